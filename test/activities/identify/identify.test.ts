// tier: integration
import { readFile, writeFile } from 'node:fs/promises';
import { CancelledFailure } from '@temporalio/common';
import { z } from 'zod';
import { readPaidCalls } from './paid-calls';
import {
  candidateSchema,
  consensusLabelSchema,
  identificationSchema,
} from '../../../contracts/artifacts/identification';
import { labelSegments } from '../../helpers/label-segments';
import { getJson, getLines } from '../../../store';
import {
  startFakeAnalyst,
  type FakeAnalystAnswer,
  type FakeAnalyst,
  type FakeAnalystRequest,
} from '../../fakes/analyst-endpoint';
import { SKILLS, syntheticAnswer, trueLabel } from '../../fakes/synthetic-episodes';
import { IdentifyWorld } from './identify-world';

const isLabel = (request: FakeAnalystRequest) => request.body.response_format?.json_schema.name === 'label';
const keysOf = (stub: FakeAnalyst) =>
  stub.requests.filter(isLabel).map(({ headers }) => String(headers['idempotency-key']));

let stub: FakeAnalyst;
let world: IdentifyWorld;
/** Replaces the fake LLM's answer; null leaves it. */
let special: (request: FakeAnalystRequest, index: number) => FakeAnalystAnswer | null = () => null;

beforeEach(async () => {
  special = () => null;
  stub = await startFakeAnalyst((request, index) => special(request, index) ?? syntheticAnswer(request));
  world = new IdentifyWorld(stub.url, {
    groundTruth: { planted: ['truth Skill one', 'truth Skill two', 'truth nobody'], decoys: ['truth Skill three'] },
  });
});

afterEach(async () => {
  await stub.close();
  await world.fixture.dispose();
});

test('the whole stage: candidates, labels in the order of the plan, contrast, planted deficits', async () => {
  const { discovery, plan, totals, result } = await world.identify(await world.input(60));
  const { store } = world.fixture;

  const candidates = await getJson(store, discovery.candidates, z.array(candidateSchema));
  expect(candidates.map(({ name }) => name)).toEqual([...SKILLS]);
  expect(plan).toMatchObject({ chunks: 6, calls: 420 });
  expect(totals).toMatchObject({ asked: 420, reused: 0, unlabelled: 0, promptTokens: 42_000, completionTokens: 4_200 });

  const labels = await getLines(store, result.labels, consensusLabelSchema);
  expect(labels.map(({ label }) => label)).toEqual(
    Array.from({ length: 60 }, (_, i) => SKILLS.map((skill) => trueLabel(i, skill))).flat(),
  );

  const identification = await getJson(store, result.identification, identificationSchema);
  expect(identification.kept.sort()).toEqual(['skill-one', 'skill-two']);
  expect(identification.calls).toEqual({ discovery: 1, label: 420, reused: 0, unlabelled: 0, saved: 0 });
  expect(identification.usage).toEqual({ promptTokens: 42_100, completionTokens: 4_210, cachedTokens: 0 });
  expect(identification.planted).toMatchObject({ missed: ['truth nobody'], invented: [], decoysKept: [] });
  expect(identification.planted?.found.map(({ planted }) => planted).sort()).toEqual([
    'truth Skill one',
    'truth Skill two',
  ]);
  expect(result.tokens).toEqual([{ stage: 'identify', model: 'm-1', promptTokens: 42_100, completionTokens: 4_210 }]);
  expect(result.kept.map(({ id }) => id).sort()).toEqual(['skill-one', 'skill-two']);
});

test('the prompts show neither tags nor diagnostics, and the label prompts not the outcome', async () => {
  await world.identify(await world.input(20));
  for (const { body } of stub.requests) {
    const text = JSON.stringify(body.messages);
    expect(text).not.toContain('truth Skill');
    expect(text).not.toContain('diagnostics');
  }
  const [label] = stub.requests.filter(isLabel);
  expect(label?.body.messages.at(-1)?.content).not.toMatch(/failed|success|reward/);
});

describe('nothing is asked twice', () => {
  test('when an activity is cut off in the middle and tried again', async () => {
    const { labelling } = await world.plan(await world.input(10));
    const environment = world.fixture.activity();
    let labels = 0;
    special = (request) => {
      if (isLabel(request) && ++labels === 30) environment.cancel('CANCELLED');
      return null;
    };
    await expect(world.label(labelling, 0, environment)).rejects.toBeInstanceOf(CancelledFailure);
    const answered = stub.requests.filter(isLabel).length;
    expect(answered).toBeLessThan(70);
    special = () => null;
    const result = await world.label(labelling, 0);
    expect(result).toMatchObject({ asked: 70, reused: 0, unlabelled: 0, promptTokens: 7_000 });
    expect(new Set(keysOf(stub)).size).toBe(70);
    // The answers that were under way when the activity was cancelled were kept.
    expect(stub.requests.filter(isLabel)).toHaveLength(70);
  });

  test('when one call keeps failing: the others are kept and only what is missing is asked again', async () => {
    const { labelling } = await world.plan(await world.input(10));
    let failing: string | null = null;
    special = (request, index) => {
      const key = String(request.headers['idempotency-key']);
      if (isLabel(request) && index > 20) failing ??= key;
      return key === failing ? { status: 503 } : null;
    };
    await expect(world.label(labelling, 0)).rejects.toMatchObject({ type: 'Analyst.Unavailable' });
    const answered = keysOf(stub).filter((key) => key !== failing);
    special = () => null;
    const before = stub.requests.length;
    await world.label(labelling, 0);
    const later = stub.requests.slice(before).map(({ headers }) => String(headers['idempotency-key']));
    expect(later).toContain(failing);
    expect(later.filter((key) => answered.includes(key))).toEqual([]);
  });

  test('when a chunk that is done is asked for again', async () => {
    const { labelling } = await world.plan(await world.input(10));
    const first = await world.label(labelling, 0);
    await expect(world.label(labelling, 0)).resolves.toEqual(first);
    expect(keysOf(stub)).toHaveLength(70);
  });

  test('when another run has the same trajectories', async () => {
    const first = await world.identify(await world.input(20, 'run-1'));
    const second = await world.identify(await world.input(20, 'run-2'));
    expect(second.totals).toEqual({
      asked: 0,
      reused: 140,
      unlabelled: 0,
      promptTokens: 0,
      completionTokens: 0,
      cachedTokens: 0,
    });
    expect(keysOf(stub)).toHaveLength(140);
    expect(second.result.labels.sha256).toBe(first.result.labels.sha256);
  });

  test('when another run has other chunks and more trajectories', async () => {
    await world.identify(await world.input(13, 'run-1'));
    const { totals } = await world.identify(await world.input(25, 'run-2'));
    expect(totals).toMatchObject({ asked: 84, reused: 91 });
    expect(new Set(keysOf(stub)).size).toBe(keysOf(stub).length);
  });

  test('but another model is another question', async () => {
    await world.identify(await world.input(5, 'run-1', 'm-1'));
    const { totals } = await world.identify(await world.input(5, 'run-2', 'm-2'));
    expect(totals).toMatchObject({ asked: 35, reused: 0 });
  });

  test('when discovery is tried again after its answers', async () => {
    const input = await world.input(60);
    const first = await world.fixture.run(world.activities.discoverCandidates, input);
    await expect(world.fixture.run(world.activities.discoverCandidates, input)).resolves.toEqual(first);
    expect(stub.requests).toHaveLength(1);
  });

  test('when a line of a segment was torn by a crash: that label alone is asked again', async () => {
    const { labelling } = await world.plan(await world.input(10));
    await world.label(labelling, 0);
    const { store } = world.fixture;
    const [segment] = await labelSegments(store, 'parcels');
    const path = store.localPath(segment!);
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.slice(0, -25));
    await expect(world.label(labelling, 0)).resolves.toMatchObject({ asked: 70 });
    expect(keysOf(stub)).toHaveLength(71);
    await world.label(labelling, 0);
    expect(keysOf(stub)).toHaveLength(71);
  });
});

describe('labels that cannot be obtained', () => {
  const badPrompt = (request: FakeAnalystRequest) =>
    isLabel(request) && request.body.messages[1]?.content.includes('Please do number 3.');

  test('stay null, with the reason', async () => {
    special = (request) => (badPrompt(request) ? { content: '{"label":"MAYBE"}' } : null);
    const { totals, result } = await world.identify(await world.input(60));
    expect(totals).toMatchObject({ asked: 420, unlabelled: 7 });
    const labels = await getLines(world.fixture.store, result.labels, consensusLabelSchema);
    const without = labels.filter(({ label }) => label === null);
    expect(without).toHaveLength(7);
    expect(without[0]?.reason).toContain('No valid answer');
  });

  test('are left alone by an automatic retry, asked again when a person retries, and by the next run', async () => {
    special = (request) => (badPrompt(request) ? { content: '{"label":"MAYBE"}' } : null);
    const { labelling } = await world.plan(await world.input(10));
    await expect(world.label(labelling, 0)).resolves.toMatchObject({ asked: 70, unlabelled: 7 });
    const before = stub.requests.length;
    await expect(world.label(labelling, 0, world.fixture.activity({ attempt: 2 }))).resolves.toMatchObject({
      asked: 70,
      unlabelled: 7,
    });
    expect(stub.requests).toHaveLength(before);
    special = () => null;
    const next = await world.identify(await world.input(10, 'run-2'));
    expect(next.totals).toMatchObject({ asked: 7, reused: 63, unlabelled: 0 });
    await expect(world.label(labelling, 0)).resolves.toMatchObject({ asked: 70, unlabelled: 0 });
    expect(new Set(keysOf(stub)).size).toBe(70 + 7 + 7);
  });

  test('for a prompt that is too long do not stop the others', async () => {
    special = (request) =>
      badPrompt(request) ? { status: 400, error: { message: 'too long', code: 'context_length_exceeded' } } : null;
    const { totals } = await world.identify(await world.input(60));
    expect(totals).toMatchObject({ asked: 420, unlabelled: 7 });
  });

  test('if too many, end the stage', async () => {
    special = (request) => (badPrompt(request) ? { content: 'nothing' } : null);
    await expect(world.identify(await world.input(10))).rejects.toMatchObject({
      type: 'Identify.TooManyUnlabelled',
      nonRetryable: true,
      message: expect.stringContaining('7 of 70'),
    });
  });
});

test('a refused key ends the chunk at once with Analyst.Unauthorised', async () => {
  const { labelling } = await world.plan(await world.input(10));
  special = () => ({ status: 401, error: { message: 'bad key' } });
  await expect(world.label(labelling, 0)).rejects.toMatchObject({ type: 'Analyst.Unauthorised', nonRetryable: true });
  expect(stub.requests.filter(isLabel).length).toBeLessThanOrEqual(8);
});

describe('several batches', () => {
  const kinds = () => stub.requests.map(({ body }) => body.response_format?.json_schema.name);
  const discover = async () => {
    await world.fixture.dispose();
    world = new IdentifyWorld(stub.url, { identify: { discoveryBatches: 2, batchSize: 8 } });
    return world.fixture.run(world.activities.discoverCandidates, await world.input(60));
  };

  test('that give the same names need no call that merges names', async () => {
    await discover();
    expect(kinds()).toEqual(['discover', 'discover']);
  });

  test('that give other names need it', async () => {
    let asked = 0;
    special = (request) => {
      const given = syntheticAnswer(request);
      if (request.body.response_format?.json_schema.name !== 'discover' || ++asked === 1) return given;
      return JSON.parse(JSON.stringify(given).replaceAll('Skill seven', 'Skill eight')) as FakeAnalystAnswer;
    };
    await discover();
    expect(kinds()).toEqual(['discover', 'discover', 'merge']);
  });

  test('show successes beside failures', async () => {
    await discover();
    for (const { body } of stub.requests) {
      const shown = body.messages.at(-1)!.content.match(/^Episode \d+: .*/gm)!;
      expect(shown.map((line) => line.split(': ')[1]).sort()).toEqual([
        ...Array<string>(8).fill('failed'),
        ...Array<string>(2).fill('succeeded'),
      ]);
    }
  });
});

test('a discovery answer that stays malformed is kept and named', async () => {
  special = () => ({ content: '{"capabilities":"none"}' });
  const error = await world.fixture
    .run(world.activities.discoverCandidates, await world.input(60))
    .catch((e: unknown) => e as Error);
  expect(error).toMatchObject({ type: 'Analyst.Malformed' });
  const key = /kept as (\S+)\.$/.exec((error as Error).message)?.[1] as string;
  await expect(readFile(world.fixture.store.localPath(key), 'utf8')).resolves.toBe('{"capabilities":"none"}');
  const paid = await readPaidCalls(world.fixture.store, 'run-1', 'parcels');
  expect(paid.calls).toMatchObject([{ kind: 'discover', asks: 2, promptTokens: 200 }]);
});

test('without candidates there is nothing to label and nothing is kept', async () => {
  special = (request) => (isLabel(request) ? null : { content: '{"capabilities":[]}' });
  const { plans, result } = await world.identify(await world.input(30));
  expect(plans).toEqual([]);
  expect(result).toMatchObject({ kept: [], candidates: 0, labels: { records: 0 } });
});

test('every paid call is recorded once, over retries and runs', async () => {
  const { store } = world.fixture;
  await world.identify(await world.input(20, 'run-1'));
  await world.identify(await world.input(20, 'run-1'));
  await world.identify(await world.input(25, 'run-2'));
  const first = await readPaidCalls(store, 'run-1', 'parcels');
  expect(first.calls.filter(({ kind }) => kind === 'label')).toHaveLength(140);
  expect(first.calls.filter(({ kind }) => kind === 'discover')).toHaveLength(1);
  expect(first.paidTwice).toEqual([]);
  const second = await readPaidCalls(store, 'run-2', 'parcels');
  expect(second.calls.filter(({ kind }) => kind === 'label')).toHaveLength(35);
  expect(stub.requests).toHaveLength(first.calls.length + second.calls.length);
});

test('heartbeats count labels that are in the segment', async () => {
  const { labelling } = await world.plan(await world.input(10));
  world.fixture.heartbeats.length = 0;
  await world.label(labelling, 0);
  const [first, last] = [world.fixture.heartbeats[0], world.fixture.heartbeats.at(-1)];
  expect(first).toMatchObject({ stage: 'identify', unit: 'labels', done: 0, total: 70 });
  expect(last).toMatchObject({ done: 70, total: 70 });
});
