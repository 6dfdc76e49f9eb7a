// Tier: integration (real programs, real environment runtime, fake model server).
import { readFileSync } from 'node:fs';
import { paidBy } from '../../../activities/environment';
import { runRollouts, storeRollouts } from '../../../activities/rollout';
import { readCompletion } from '../../../activities/rollout/read-completion';
import { episodeTokensSchema, type KeptEpisode, type KeptTokens } from '../../../contracts/artifacts/episode-tokens';
import { parseLenient } from '../../../contracts/lenient-json';
import { openEnvironment } from '../../../sandbox';
import { getLines } from '../../../store';
import { z } from 'zod';
import type { WireRequest } from '../../fakes/policy-server';
import { fixture, RunFixture } from '../run-fixture';
import { modelAt, planOf, PlayerFixture, SETTINGS } from './program/player-fixture';

const PROGRAM = `
import json, os, sys, urllib.request
task = json.load(sys.stdin)
body = {"model": os.environ["OPENAI_MODEL"], "messages": [{"role": "user", "content": f"task {task['seed']}"}]}
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))
print(json.dumps({"reward": task["seed"] % 2}))`;
const PLANS = Array.from({ length: 6 }, (_, seed) => planOf(seed));

let programs: PlayerFixture;
let run: RunFixture;
beforeEach(async () => {
  programs = await new PlayerFixture().start(() => ({ content: 'done' }));
  run = new RunFixture();
});
afterEach(async () => {
  await programs.stop();
  await run.dispose();
});

/** Answers with tokens where `gives` says so. */
const answerWithTokens = (gives: (request: WireRequest) => boolean) => {
  programs.server.behaviour = (request, response) => {
    if (!('return_token_ids' in request) || !gives(request)) return false;
    const message = { role: 'assistant', content: 'done' };
    const logprobs = {
      content: [
        { token: 'done', logprob: -0.5 },
        { token: '', logprob: -0.25 },
      ],
    };
    const choice = { index: 0, message, finish_reason: 'stop', token_ids: [7, 2], logprobs };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ choices: [choice], prompt_token_ids: [1, request.seed % 1000] }));
    return true;
  };
};

const kept = async (kind: 'program' | 'module', keepsTokens = true): Promise<KeptTokens | undefined> => {
  const name = fixture('parcel_desk.py');
  const module = { source: readFileSync(name, 'utf8'), trust: 'owner' as const, name };
  const options = {
    plans: PLANS,
    environment: paidBy(kind === 'program' ? programs.sourceOf(PROGRAM) : module, null),
    settings: SETTINGS,
    model: modelAt(programs.server.baseUrl),
    adapters: [],
    concurrency: 3,
    workKey: 'work.jsonl',
    stage: 'collect' as const,
    keepsTokens,
  };
  const deps = { ...run.deps, openEnvironment };
  const target = { directory: 'kept', name: 'episodes.jsonl', stage: 'collect' as const };
  const stored = async () => storeRollouts(run.store, await runRollouts(deps, options), target);
  return (await run.run(stored, null)).tokens;
};

const lineSchema = z.object({ id: z.string(), seed: z.int(), rows: episodeTokensSchema.shape.rows }).loose();

test.each(['program', 'module'] as const)(
  'the tokens of a %s are an artifact, and a second attempt pays nothing',
  async (kind) => {
    answerWithTokens(() => true);
    const first = await kept(kind);
    expect(first).toMatchObject({ episodes: 6, lacking: 0 });
    expect(first).not.toHaveProperty('refusal');
    const lines = (await getLines(run.store, first!.artifact!, lineSchema)) as unknown as KeptEpisode[];
    expect(lines.map(({ seed }) => seed)).toEqual(PLANS.map(({ seed }) => seed));
    expect(lines[3]).toMatchObject({ trial: 0, model: 'base', temperature: 1 });
    expect(lines[3]!.rows).toEqual([
      {
        ids: Buffer.from(Int32Array.of(1, PLANS[3]!.samplingSeed % 1000, 7, 2).buffer).toString('base64'),
        sampled: [[2, 2]],
        logprobs: Buffer.from(Float32Array.of(-0.5, -0.25).buffer).toString('base64'),
      },
    ]);
    const asked = programs.server.requests.length;
    expect(await kept(kind)).toEqual(first);
    expect(programs.server.requests).toHaveLength(asked);
  },
);

test('unasked, nothing is kept, and the server is asked as ever', async () => {
  answerWithTokens(() => true);
  expect(await kept('program', false)).toBeUndefined();
  expect(programs.server.requests.filter((request) => 'return_token_ids' in request)).toEqual([]);
  expect(programs.server.requests).toHaveLength(PLANS.length);
});

const asks = () => programs.server.requests.filter((request) => 'return_token_ids' in request).length;

test('a server that refuses what it does not know is asked once, and serves the episodes', async () => {
  programs.server.interceptors.push((request) =>
    'return_token_ids' in request
      ? { status: 400, body: { error: { message: 'Extra inputs: return_token_ids' } } }
      : null,
  );
  const tokens = await kept('program');
  expect(tokens).toMatchObject({ episodes: 0, lacking: 6, refusal: expect.stringContaining('Extra inputs') as string });
  expect(tokens).not.toHaveProperty('artifact');
  expect(asks()).toBe(1);
  // A retry that has nothing to play says the same.
  expect(await kept('program')).toEqual(tokens);
  expect(asks()).toBe(1);
});

test('a server that ignores the question is not asked again', async () => {
  const tokens = await kept('module');
  expect(tokens).toMatchObject({
    episodes: 0,
    lacking: 6,
    refusal: expect.stringContaining('without the ids') as string,
  });
  expect(asks()).toBe(1);
});

test('an episode with one answer without tokens is left out', async () => {
  answerWithTokens(({ messages }) => messages[0]!.content !== 'task 2');
  const tokens = await kept('program');
  expect(tokens).toMatchObject({ episodes: 5, lacking: 1 });
  const lines = await getLines(run.store, tokens!.artifact!, lineSchema);
  expect(lines.map(({ seed }) => seed)).toEqual([0, 1, 3, 4, 5]);
});

test.each([
  ['ids as texts', '["7"]', '-0.5'],
  ['an id below 0', '[-1]', '-0.5'],
  ['an id beyond 31 bits', '[2147483648]', '-0.5'],
  ['an id that is no whole number', '[1.5]', '-0.5'],
  ['more ids than log-probabilities', '[7, 2]', '-0.5'],
  ['no log-probability', '[7]', 'null'],
  ['a log-probability that is no number', '[7]', 'NaN'],
  ['an infinite log-probability', '[7]', '-1e999'],
  ['a log-probability beyond 32 bits', '[7]', '-1e39'],
])('an answer with %s has no tokens', (_, ids, logprob) => {
  const text =
    `{"choices":[{"message":{"content":"x"},"token_ids":${ids},"logprobs":{"content":[{"logprob":${logprob}}]}}],` +
    '"prompt_token_ids":[1]}';
  const answer = readCompletion(parseLenient(text), 'http://model.invalid', undefined);
  expect(answer).toMatchObject({ content: 'x' });
  expect(answer).not.toHaveProperty('tokens');
});
