// tier: integration
import { createHash } from 'node:crypto';
import { environmentKeyOf } from '../../../activities/reuse/environment-inputs';
import { keepReusable } from '../../../activities/reuse/reuse-records';
import { judgementOf, type ShownChange } from '../../../activities/environment-checks/judged-variations';
import type { TargetProfile } from '../../../activities/environment-checks/target-profile';
import { createSynthesiseActivities } from '../../../activities/synthesise';
import type { CalibrationResult, EnvironmentAttempt } from '../../../contracts/artifacts/environment-attempt';
import type { AttemptRefs, SynthesisInput } from '../../../contracts/messages/sharpen-stage';
import type { EnvironmentTool } from '../../../contracts/messages/environment-protocol';
import { createAnalyst } from '../../../llm';
import { layout, putJson, putLines } from '../../../store';
import {
  startFakeAnalyst,
  type FakeAnalystAnswer,
  type FakeAnalyst,
  type FakeAnalystRequest,
} from '../../fakes/analyst-endpoint';
import { syntheticAnswer, syntheticEpisode } from '../../fakes/synthetic-episodes';
import { IdentifyWorld } from '../identify/identify-world';

const SOURCE = '"""Why it transfers."""\n\n\nclass Environment:\n    pass\n';
const TOOL: EnvironmentTool = {
  type: 'function',
  function: {
    name: 'do_it',
    description: 'Does it.',
    parameters: { type: 'object', properties: { n: { type: 'integer' } } },
  },
};

let stub: FakeAnalyst;
let world: IdentifyWorld;
let answer: (request: FakeAnalystRequest) => FakeAnalystAnswer | Promise<FakeAnalystAnswer> = syntheticAnswer;

beforeEach(async () => {
  answer = ({ body }) => ({
    content: JSON.stringify({ rationale: 'r', decline: null, source: body.messages.length > 0 ? SOURCE : '' }),
  });
  stub = await startFakeAnalyst((request) =>
    request.body.response_format?.json_schema.name === 'synthesise' ? answer(request) : syntheticAnswer(request),
  );
  world = new IdentifyWorld(stub.url);
});

afterEach(async () => {
  await stub.close();
  await world.fixture.dispose();
});

async function input(): Promise<SynthesisInput> {
  const identify = await world.input(24);
  const { result } = await world.identify(identify);
  const capability = result.kept[0]!;
  return {
    context: identify.context,
    capability,
    identification: result.identification,
    trajectories: identify.collected.trajectories,
    labels: result.labels,
    attempt: 1,
    previous: null,
    history: [],
  };
}

/** Rollouts with another system message. */
async function toldOtherwise({ trajectories }: SynthesisInput) {
  const { store } = world.fixture;
  const told = String(await store.get(trajectories)).replaceAll('You are a test agent.', 'It is Tuesday.');
  return store.put('runs/run-1', 'tonight.jsonl', told);
}

const DONE_TWICE: ShownChange = {
  change: 'again do_it',
  about: 'The same call of do_it twice',
  tried: 6,
  succeeded: 0,
  answers: [{ kind: 'a refusal', count: 6, example: '{"error":"done"}' }],
};

const activities = () =>
  createSynthesiseActivities({
    store: world.fixture.store,
    analyst: ({ analyst }) =>
      createAnalyst({
        baseUrl: analyst.baseUrl,
        model: analyst.model,
        ...{ apiKey: 'x', concurrency: 1, maxReasks: 1, timeoutMs: 60_000 },
      }),
    profileOfTarget: async () =>
      ({
        tools: [TOOL],
        hasSay: false,
        refused: [{ name: 'do_it', arguments: '{}', observation: 'bad call' }],
        judgement: { ...judgementOf([]), byChange: [DONE_TWICE] },
      }) as unknown as TargetProfile,
  });

const asked = () => stub.requests.filter(({ body }) => body.response_format?.json_schema.name === 'synthesise');
const prompt = () =>
  asked()
    .at(-1)!
    .body.messages.map(({ content }) => content)
    .join('\n');

test('the module is stored under its attempt and hash', async () => {
  const given = await input();
  const result = await world.fixture.run(activities().synthesiseEnvironment, given);
  const hash = createHash('sha256').update(SOURCE).digest('hex');
  expect(result.source!.key).toBe(`runs/run-1/environments/${given.capability.id}/attempt-1-${hash.slice(0, 12)}.py`);
  expect((await world.fixture.store.get(result.source!)).toString()).toBe(SOURCE);
  expect(result).toMatchObject({ promptTokens: 100, completionTokens: 10, model: 'm-1' });
});

test('the prompt shows capability, tools, observations, evidence and rules, and no ground truth', async () => {
  const given = await input();
  await world.fixture.run(activities().synthesiseEnvironment, given);
  for (const part of [
    `# Capability\n${given.capability.name}\n`,
    '"name": "do_it"',
    'You are a test agent.',
    '"Please do number ',
    '- do_it {"n":',
    '# Failed episode 1, which lacks the capability\nMessage 3: message 3 says LACKING',
    '# Successful episode 1, which shows the capability',
    'Before training, the agent played ',
    '# Text without a tool call\n',
    '- The same call of do_it twice: refused (6 of 6); the call is answered "{\\"error\\":\\"done\\"}" (6)',
    "# The target's vocabulary",
    '# Error observations of the target: answers to calls that it did not accept\n- do_it {} -> "bad call"',
    'def generate_task(seed: int)',
    'between 0.2 and 0.6',
  ]) {
    expect(prompt()).toContain(part);
  }
  expect(prompt()).not.toContain('truth Skill');
  expect(prompt()).not.toContain('was rejected');
});

describe('an analyst that declines', () => {
  const REASON = 'No tool returns the number that do_it needs.';
  const declining = (): FakeAnalystAnswer => ({
    content: JSON.stringify({ rationale: 'r', decline: { reason: REASON }, source: null }),
  });
  const inRun = (given: SynthesisInput, runId: string): SynthesisInput => ({
    ...given,
    context: { ...given.context, runId },
  });

  test('is quoted, with what the labels say against it', async () => {
    const given = await input();
    answer = declining;
    const result = await world.fixture.run(activities().synthesiseEnvironment, given);
    expect(result).toMatchObject({ source: null, promptTokens: 100, completionTokens: 10, model: 'm-1' });
    expect(result).toHaveProperty(
      'declined',
      expect.stringMatching(
        /^The analyst declined to write an environment: No tool .* needs\. Against this: \d+ of the \d+ labelled/,
      ),
    );
    // Only the reason is kept: what the labels say may change.
    const { store } = world.fixture;
    const [record] = (await store.list(layout.reuse(given.context.agent))).filter((name) => name.startsWith('decline'));
    const kept = await store.readDocument(`${layout.reuse(given.context.agent)}/${record}`);
    expect(kept!.value).toMatchObject({ reason: REASON });
  });

  test('is not asked again by a later run with the same inputs, unless a person says so', async () => {
    const given = await input();
    answer = declining;
    const first = await world.fixture.run(activities().synthesiseEnvironment, given);
    const again = await world.fixture.run(activities().synthesiseEnvironment, inRun(given, 'run-2'));
    expect(again).toEqual({ ...first, promptTokens: 0, completionTokens: 0, reusedFrom: 'run-1' });
    expect(asked()).toHaveLength(1);
    const told = { ...inRun(given, 'run-2'), declines: 1 };
    await world.fixture.run(activities().synthesiseEnvironment, told);
    await world.fixture.run(activities().synthesiseEnvironment, { ...told, declines: 2 });
    expect(asked()).toHaveLength(3);
  });

  test('is asked again once another model is the analyst', async () => {
    const given = await input();
    answer = declining;
    await world.fixture.run(activities().synthesiseEnvironment, given);
    const { context } = await world.input(24, 'run-2', 'm-2');
    await world.fixture.run(activities().synthesiseEnvironment, { ...given, context });
    expect(asked()).toHaveLength(2);
  });

  test('is asked again once the evidence is another', async () => {
    const given = await input();
    answer = declining;
    await world.fixture.run(activities().synthesiseEnvironment, given);
    const again = { ...inRun(given, 'run-2'), trajectories: await toldOtherwise(given) };
    expect(await world.fixture.run(activities().synthesiseEnvironment, again)).not.toHaveProperty('reusedFrom');
    expect(asked()).toHaveLength(2);
  });

  test('is asked again if it declined at a later attempt', async () => {
    const given = await input();
    answer = declining;
    await world.fixture.run(activities().synthesiseEnvironment, { ...given, attempt: 2 });
    await world.fixture.run(activities().synthesiseEnvironment, inRun(given, 'run-2'));
    expect(asked()).toHaveLength(2);
  });

  test('may not give a source as well, nor give nothing', async () => {
    const given = await input();
    for (const wrong of [
      { decline: { reason: REASON }, source: SOURCE },
      { decline: null, source: null },
      { decline: { reason: ' ' }, source: null },
    ]) {
      answer = () => ({ content: JSON.stringify({ rationale: 'r', ...wrong }) });
      const failed = world.fixture.run(activities().synthesiseEnvironment, { ...given, attempt: asked().length + 1 });
      await expect(failed).rejects.toMatchObject({ type: 'Analyst.Malformed' });
    }
  });
});

describe('an environment that an earlier run had certified', () => {
  /** What the calibration of an earlier run keeps. */
  const keepCertified = async (given: SynthesisInput, tools = [TOOL]) => {
    const { store } = world.fixture;
    const source = await store.put('runs/run-0/environments/x', 'attempt-3.py', 'class Environment: ...\n');
    const key = await environmentKeyOf(store, given, tools);
    await keepReusable(store, given.context.agent, key, { runId: 'run-0', source });
    return source;
  };

  test('is the first attempt, and nothing is asked', async () => {
    const given = await input();
    const source = await keepCertified(given);
    const result = await world.fixture.run(activities().synthesiseEnvironment, given);
    expect(result).toMatchObject({ reusedFrom: 'run-0', promptTokens: 0, completionTokens: 0 });
    expect(result.source).toMatchObject({ sha256: source.sha256, key: expect.stringContaining('runs/run-1/') });
    expect(asked()).toHaveLength(0);
  });

  test('is taken where the agent is told something else by now', async () => {
    const given = await input();
    await keepCertified(given);
    const trajectories = await toldOtherwise(given);
    const result = await world.fixture.run(activities().synthesiseEnvironment, { ...given, trajectories });
    expect(result).toMatchObject({ reusedFrom: 'run-0', promptTokens: 0 });
  });

  test('is not taken again after it was rejected', async () => {
    const given = await input();
    await keepCertified(given);
    const result = await world.fixture.run(activities().synthesiseEnvironment, { ...given, attempt: 2 });
    expect(result.reusedFrom).toBeUndefined();
    expect(asked()).toHaveLength(1);
  });

  test.each([
    ['the tools are others', async (given: SynthesisInput) => void (await keepCertified(given, []))],
    [
      'the capability is worded otherwise',
      async (given: SynthesisInput) =>
        void (await keepCertified({ ...given, capability: { ...given.capability, summary: 'something else' } })),
    ],
    [
      'its bytes are gone',
      async (given: SynthesisInput) => {
        const { key } = await keepCertified(given);
        await world.fixture.store.remove(key, Number.MAX_SAFE_INTEGER);
      },
    ],
  ])('is written anew where %s', async (_, arrange) => {
    const given = await input();
    await arrange(given);
    const result = await world.fixture.run(activities().synthesiseEnvironment, given);
    expect(result.reusedFrom).toBeUndefined();
    expect(asked()).toHaveLength(1);
  });
});

test('a retried activity gets the answer from its segment', async () => {
  const given = await input();
  const first = await world.fixture.run(activities().synthesiseEnvironment, given);
  await expect(world.fixture.run(activities().synthesiseEnvironment, given)).resolves.toEqual(first);
  expect(asked()).toHaveLength(1);
});

test('an attempt waits for the one before in its process, whose answer counts', async () => {
  const given = await input();
  const { synthesiseEnvironment } = activities();
  const environment = world.fixture.activity();
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const usual = answer;
  answer = (request) => opened.then(() => usual(request));
  const outcome = world.fixture.run(synthesiseEnvironment, given, environment).catch((error: unknown) => error);
  while (asked().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const next = world.fixture.run(synthesiseEnvironment, given);
  const isWaiting = () => world.fixture.heartbeats.some(({ note }) => note?.includes('attempt before'));
  while (asked().length === 1 && !isWaiting()) await new Promise((resolve) => setTimeout(resolve, 5));
  environment.cancel('NOT_FOUND');
  open();
  await outcome;
  await expect(next).resolves.toMatchObject({ model: 'm-1' });
  expect(asked()).toHaveLength(1);
});

test('a rejected attempt goes back with its source, problems and numbers', async () => {
  const given = await input();
  const first = await world.fixture.run(activities().synthesiseEnvironment, given);
  const { store } = world.fixture;
  const directory = layout.environments('run-1', given.capability.id);
  const validation: EnvironmentAttempt['validation'] = {
    passed: true,
    problems: [],
    checks: [
      { name: 'deterministic', group: 'deterministic', passed: true, detail: 'same seed, same task', figures: [] },
    ],
  };
  const calibration: CalibrationResult = {
    ...{ seeds: 10, rolloutsPerSeed: 4, rollouts: 40, planned: 40, doubt: 0, rolloutsInMeans: 4 },
    ...{ meanReward: 0.91, meanSuccess: 0.88, allSuccessGroups: 0.7, allZeroGroups: 0, constantGroups: 0.7 },
    ...{ informativeGroups: 0.3, rewardStd: 0.02 },
    passAt: { '1': { estimate: 0.88, low: 0.7, high: 0.95 } },
    groupMeans: [0.9],
    faulty: false,
    verdict: 'too-easy',
    problems: ['Mean reward 0.91 is above 0.6: make the tasks harder.'],
  };
  const previous: AttemptRefs = {
    attempt: 1,
    source: first.source!,
    validation: await putJson(store, directory, 'validation.json', validation),
    calibration: await putJson(store, directory, 'calibration.json', calibration),
    certificate: first.source!,
    accepted: false,
    outcome: 'too easy',
  };
  const rollout = { ...syntheticEpisode(7), reward: 0.3, success: false };
  const rollouts = await putLines(store, directory, 'rollouts.jsonl', [rollout]);
  const second = await world.fixture.run(activities().synthesiseEnvironment, {
    ...given,
    attempt: 2,
    previous: { ...previous, rollouts },
    history: [{ attempt: 1, outcome: 'too easy' }],
  });
  expect(second.source!.key).toContain('/attempt-2-');
  for (const part of [
    '# Attempt 1 was rejected',
    'too-easy',
    'Mean reward 0.91 is above 0.6',
    '"meanReward":0.91',
    '    class Environment:',
    '## What the agent did in it, 1: task 7, reward 0.3, no success',
    'Find out from the rollouts and the numbers',
  ])
    expect(prompt()).toContain(part);

  // An attempt that could not be played has no rollouts.
  await world.fixture.run(activities().synthesiseEnvironment, { ...given, attempt: 3, previous });
  expect(prompt()).toContain('Find out from the numbers why');
  const faulty: CalibrationResult = {
    ...calibration,
    faulty: true,
    problems: ['The environment failed in 8 of 32 rollouts: ZeroDivisionError'],
  };
  const crashed = { ...previous, attempt: 4, calibration: await putJson(store, directory, 'faulty.json', faulty) };
  await world.fixture.run(activities().synthesiseEnvironment, { ...given, attempt: 5, previous: crashed });
  expect(prompt()).toContain(
    'that has to be corrected before the figures mean anything:\n' +
      '- The environment failed in 8 of 32 rollouts: ZeroDivisionError',
  );
  expect(prompt()).toMatch(/Correct what was found; keep what was right\. .*\n\nWrite the environment/);
});

test('problems of validation go back even without a calibration', async () => {
  const given = await input();
  const first = await world.fixture.run(activities().synthesiseEnvironment, given);
  const validation: EnvironmentAttempt['validation'] = {
    passed: false,
    problems: ['generate_task(7) raised KeyError.'],
    checks: [{ name: 'interface', group: 'form', passed: false, detail: 'refund_order is missing', figures: [] }],
  };
  const previous: AttemptRefs = {
    ...{ attempt: 1, source: first.source!, certificate: first.source!, accepted: false, outcome: 'failed' },
    validation: await putJson(world.fixture.store, 'x', 'v.json', validation),
    calibration: null,
  };
  await world.fixture.run(activities().synthesiseEnvironment, { ...given, attempt: 2, previous });
  expect(prompt()).toContain('- check interface: FAILED: refund_order is missing');
  expect(prompt()).toContain('Correct what was found; keep what was right.');
});

test('a source without the class is asked again, and is Analyst.Malformed if it stays so', async () => {
  answer = () => ({ content: JSON.stringify({ rationale: 'r', decline: null, source: 'print(1)' }) });
  await expect(world.fixture.run(activities().synthesiseEnvironment, await input())).rejects.toMatchObject({
    type: 'Analyst.Malformed',
    message: expect.stringContaining('class Environment'),
  });
  expect(asked()).toHaveLength(2);
});
