// tier: integration
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CancelledFailure } from '@temporalio/common';
import { createAnalystFactory } from '../../../activities/analyst/analyst-factory';
import { readAnalystUse } from '../../../activities/analyst/budget-meter';
import { ClaimLostError } from '../../../activities/analyst/claim';
import { labelSegments } from '../../helpers/label-segments';
import { startFakeBatchEndpoint } from '../../fakes/batch-endpoint';
import {
  startFakeAnalyst,
  type FakeAnalyst,
  type FakeAnalystAnswer,
  type FakeAnalystRequest,
} from '../../fakes/analyst-endpoint';
import { syntheticAnswer, syntheticEpisode } from '../../fakes/synthetic-episodes';
import { LocalStore } from '../../../store';
import { damageDocument, removeDocument } from '../../helpers/stored-document';
import { IdentifyWorld, NOTHING } from './identify-world';

const isLabel = (request: FakeAnalystRequest) => request.body.response_format?.json_schema.name === 'label';
const labelCalls = () => stub.requests.filter(isLabel).length;
const quick = { renewMs: 20, lookMs: 20, deadAfterLooks: 200 };

let stub: FakeAnalyst;
let world: IdentifyWorld;
let special: (request: FakeAnalystRequest) => FakeAnalystAnswer | null | Promise<FakeAnalystAnswer | null>;

beforeEach(async () => {
  special = () => null;
  stub = await startFakeAnalyst(async (request) => (await special(request)) ?? syntheticAnswer(request));
  world = new IdentifyWorld(stub.url, {}, (store) => createAnalystFactory(store, 'x'), quick);
});

afterEach(async () => {
  await stub.close();
  await world.fixture.dispose();
});

/** Resolves when the condition holds; it is looked at again and again. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Holds calls back until `open` is called. */
function gate(isHeldBack = isLabel): { isHeld: () => boolean; open: () => void } {
  let open = () => {};
  let isHeld = false;
  const opened = new Promise<null>((resolve) => (open = () => resolve(null)));
  special = async (request) => {
    if (!isHeldBack(request)) return null;
    isHeld = true;
    return opened;
  };
  return { isHeld: () => isHeld, open };
}

describe('two runs of one agent at once', () => {
  test('ask each question once: one asks, the other waits for its answers and says so', async () => {
    const { isHeld, open } = gate();
    const first = await world.plan(await world.input(10, 'run-1'));
    const second = await world.plan(await world.input(10, 'run-2'));
    const asking = world.label(first.labelling, 0);
    await until(isHeld);
    const waiting = world.label(second.labelling, 0);
    await until(() => world.fixture.heartbeats.some(({ note }) => note?.includes('waits for run-1') ?? false));
    expect(world.fixture.heartbeats.map(({ note }) => note)).toContain('waits for run-1 to answer 70 labels');
    open();
    await expect(asking).resolves.toMatchObject({ asked: 70, reused: 0 });
    await expect(waiting).resolves.toMatchObject({ asked: 0, reused: 70 });
    expect(labelCalls()).toBe(70);
  });

  test('in mode batch there is one batch', async () => {
    const endpoint = await startFakeBatchEndpoint(
      (body) => (syntheticAnswer({ path: '', headers: {}, body }) as { content: string }).content,
      { polls: 2 },
    );
    const batched = new IdentifyWorld(
      endpoint.url,
      { analyst: { mode: 'batch' } },
      (store) => createAnalystFactory(store, 'x'),
      quick,
    );
    try {
      const first = await batched.plan(await batched.input(10, 'run-1'));
      const second = await batched.plan(await batched.input(10, 'run-2'));
      const results = await Promise.all([batched.label(first.labelling, 0), batched.label(second.labelling, 0)]);
      expect(results.map(({ asked }) => asked).sort((a, b) => a - b)).toEqual([0, 70]);
      expect(endpoint.batches).toHaveLength(1);
    } finally {
      await endpoint.close();
      await batched.fixture.dispose();
    }
  });

  test('the one that waits takes over what a dead run leaves', async () => {
    const first = await world.plan(await world.input(10, 'run-1'));
    const second = await world.plan(await world.input(10, 'run-2'));
    // A worker that was killed: its claim is there, and nobody renews it.
    await world.label(first.labelling, 0);
    const { store } = world.fixture;
    const [segment] = await labelSegments(store, 'parcels', 'run-1');
    const path = store.localPath(segment!);
    writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(0, 30).join('\n') + '\n');
    const claim = `${dirname(segment!)}/claim.json`;
    const document = await store.readDocument(claim);
    await store.swapDocument(
      claim,
      { holder: { runId: 'run-1', owner: 'dead', questions: 70 }, renewals: 9 },
      document!.version,
    );
    await expect(world.label(second.labelling, 0)).resolves.toMatchObject({ asked: 40, reused: 30 });
    // The first run's next attempt finds all answers.
    await expect(world.label(first.labelling, 0)).resolves.toMatchObject({ asked: 30, reused: 40 });
    expect(labelCalls()).toBe(110);
  });

  test('a run whose claim was taken while its worker was stopped asks nothing more, and waits', async () => {
    const { isHeld, open } = gate();
    const { labelling } = await world.plan(await world.input(10, 'run-1'));
    const asking = world.label(labelling, 0);
    await until(isHeld);
    const { store } = world.fixture;
    const [directory] = await store.list('labels-cache/parcels');
    const sets = `labels-cache/parcels/${directory}/sets`;
    const [set] = await store.list(sets);
    const claim = `${sets}/${set}/claim.json`;
    // Another run takes over, renews for a while, and ends without an answer.
    const take = async (renewals: number, holder: unknown) => {
      for (;;) {
        const document = await store.readDocument(claim);
        const done = await store.swapDocument(claim, { holder, renewals }, document!.version).catch(() => null);
        if (done !== null) return;
      }
    };
    const other = { runId: 'run-2', owner: 'other', questions: 70 };
    await take(100, other);
    await until(() => world.fixture.heartbeats.some(({ note }) => note?.includes('waits for run-2') ?? false));
    const before = labelCalls();
    expect(before).toBeLessThanOrEqual(8);
    open();
    await take(101, null);
    await expect(asking).resolves.toMatchObject({ asked: 70 });
    expect(labelCalls()).toBeLessThanOrEqual(70 + before);
  });

  test('an attempt that a later one of its run, in another process, has replaced ends', async () => {
    const { isHeld, open } = gate();
    const { labelling } = await world.plan(await world.input(10, 'run-1'));
    const stopped = world.label(labelling, 0);
    const { fixture } = world;
    const other = new IdentifyWorld(stub.url, {}, (store) => createAnalystFactory(store, 'x'), quick, fixture);
    const outcome = stopped.catch((error: unknown) => error);
    const aborts = jest.spyOn(AbortController.prototype, 'abort');
    await until(isHeld);
    special = () => null;
    await expect(other.label(labelling, 0)).resolves.toMatchObject({ asked: 70 });
    // Until its next renewal the first attempt does not know that it was replaced, and may ask further questions.
    await until(() => aborts.mock.calls.some(([reason]) => reason instanceof ClaimLostError));
    aborts.mockRestore();
    open();
    expect(await outcome).toMatchObject({ message: expect.stringContaining('A later attempt of this run') });
    // Eight were under way when the second attempt began.
    expect(labelCalls()).toBeLessThanOrEqual(70 + 8);
  });

  test('an attempt waits for the one before in its process, which keeps the answers that are under way', async () => {
    const { isHeld, open } = gate();
    const { labelling } = await world.plan(await world.input(10, 'run-1'));
    const environment = world.fixture.activity();
    const before = world.label(labelling, 0, environment);
    const outcome = before.catch((error: unknown) => error);
    await until(isHeld);
    // Temporal has not heard of it for a while: it starts the next attempt, then tells this one that it is over.
    const next = world.label(labelling, 0);
    environment.cancel('NOT_FOUND');
    special = () => null;
    open();
    expect(await outcome).toBeInstanceOf(CancelledFailure);
    await expect(next).resolves.toMatchObject({ asked: 70 });
    expect(labelCalls()).toBe(70);
  });
});

test('discovery waits for the attempt before in its process as well, whose answer counts', async () => {
  const isDiscovery = ({ body }: FakeAnalystRequest) => body.response_format?.json_schema.name === 'discover';
  const { isHeld, open } = gate(isDiscovery);
  const input = await world.input(10, 'run-1');
  const environment = world.fixture.activity();
  const discover = (activity = world.fixture.activity()) =>
    world.fixture.run(world.activities.discoverCandidates, input, activity);
  const outcome = discover(environment).catch((error: unknown) => error);
  await until(isHeld);
  const next = discover();
  await until(
    () => stub.requests.length > 1 || world.fixture.heartbeats.some(({ note }) => note?.includes('attempt before')),
  );
  environment.cancel('NOT_FOUND');
  special = () => null;
  open();
  await outcome;
  const { calls } = await next;
  expect(stub.requests).toHaveLength(calls);
});

describe('what is paid for', () => {
  test('counts once, whether or not the worker that was killed had written its counts', async () => {
    const { labelling } = await world.plan(await world.input(10, 'run-1'));
    await world.label(labelling, 0);
    const { store } = world.fixture;
    const whole = await readAnalystUse(store, 'run-1');
    expect(whole.label).toMatchObject({ calls: 70, asks: 70, tries: 70 });
    // Killed before the counts of this chunk were written: the next worker makes up for them.
    removeDocument(store, 'runs/run-1/analyst-use.json');
    const worker = () => new IdentifyWorld(stub.url, {}, () => createAnalystFactory(store, 'x'), quick, world.fixture);
    await worker().label(labelling, 0);
    expect((await readAnalystUse(store, 'run-1')).label).toEqual(whole.label);
    await worker().label(labelling, 0);
    expect((await readAnalystUse(store, 'run-1')).label).toEqual(whole.label);
  });

  test('a budget holds across kills', async () => {
    const spec = { budget: { tokens: 40 * 110 + 20 }, analyst: { concurrency: 4 } };
    const factory = () => createAnalystFactory(world.fixture.store, 'x');
    const worker = () => new IdentifyWorld(stub.url, spec, factory, quick, world.fixture);
    const { labelling } = await worker().plan(await worker().input(10, 'run-1'));
    const environment = world.fixture.activity();
    special = (request) => {
      if (isLabel(request) && labelCalls() === 20) environment.cancel('CANCELLED');
      return null;
    };
    await expect(worker().label(labelling, 0, environment)).rejects.toBeInstanceOf(CancelledFailure);
    removeDocument(world.fixture.store, 'runs/run-1/analyst-use.json');
    special = () => null;
    await expect(worker().label(labelling, 0)).rejects.toMatchObject({ type: 'Budget.Spent' });
    // Four calls may have been under way when the first worker ended.
    expect(labelCalls()).toBeLessThanOrEqual(40 + 4);
  });
});

describe('the label cache', () => {
  const nights = async (count: number) => {
    for (let night = 1; night <= count; night++) {
      const episodes = Array.from({ length: 20 }, (_, i) => syntheticEpisode(night * 100 + i));
      await world.identify(await world.inputOf(episodes, `night-${night}`, 'm-1'));
    }
  };
  /** Every second trajectory of the nights, in one run. */
  const mixture = (count: number, runId: string) =>
    world.inputOf(
      Array.from({ length: 10 * count }, (_, i) => syntheticEpisode(100 * (1 + Math.floor(i / 10)) + 2 * (i % 10))),
      runId,
      'm-1',
    );

  test('gives the labels of any mixture of old trajectories', async () => {
    await nights(3);
    const before = labelCalls();
    const { totals } = await world.identify(await mixture(3, 'mixed'));
    expect(totals).toMatchObject({ asked: 0, reused: 210 });
    expect(labelCalls()).toBe(before);
  });

  test('builds its index again when a page is damaged, or when it is gone', async () => {
    await nights(2);
    const { store } = world.fixture;
    const [directory] = await store.list('labels-cache/parcels');
    const index = `labels-cache/parcels/${directory}/pages`;
    for (const folder of (await store.list(`${index}/1`)).filter((name) => !name.endsWith('.json'))) {
      for (const page of await store.list(`${index}/1/${folder}`))
        damageDocument(store, `${index}/1/${folder}/${page}`, '{');
    }
    expect((await world.identify(await mixture(2, 'mixed-1'))).totals).toMatchObject({ asked: 0, reused: 140 });
    removeDocument(store, `${index}/1/complete.json`);
    removeDocument(store, `${index}/2/complete.json`);
    expect((await world.identify(await mixture(2, 'mixed-2'))).totals).toMatchObject({ asked: 0, reused: 140 });
    expect(await store.readDocument(`${index}/3/complete.json`)).not.toBeNull();
  });

  test('a mixture of old trajectories reads one file of labels, whatever nights they come from', async () => {
    await nights(2);
    const { store } = world.fixture;
    const segments = new Set<string>();
    const read = jest.spyOn(store, 'segment').mockImplementation((key) => {
      segments.add(key);
      return LocalStore.prototype.segment.call(store, key);
    });
    await world.identify(await mixture(2, 'mixed'));
    read.mockRestore();
    const ofOthers = [...segments].filter((key) => /night-\d/.test(key));
    expect(ofOthers).toEqual([]);
    expect([...segments].filter((key) => key.includes('/found-'))).toHaveLength(1);
  });

  test('takes the labels from the index where the file that collects them is damaged', async () => {
    await nights(2);
    const before = labelCalls();
    const { store } = world.fixture;
    const { plan, labelling } = await world.plan(await mixture(2, 'mixed'));
    const [found] = (await store.list('runs/mixed/labels')).filter((name) => name.startsWith('found-'));
    writeFileSync(store.localPath(`runs/mixed/labels/${found}`), 'torn');
    for (let chunk = 0; chunk < plan.chunks; chunk++)
      await expect(world.label(labelling, chunk)).resolves.toMatchObject({ asked: 0 });
    expect(labelCalls()).toBe(before);
  });

  test.each([
    ['taken from the index', 0],
    ['asked again where the index is gone', 2],
  ])('sets damaged lines aside: their labels are %s, and the run says how many and where', async (_, asked) => {
    await nights(1);
    const { store } = world.fixture;
    const [segment] = await labelSegments(store, 'parcels', 'night-1');
    const lines = readFileSync(store.localPath(segment!), 'utf8').split('\n');
    lines[3] = lines[3]!.slice(0, 40);
    lines[5] = '{"label":{}}';
    writeFileSync(store.localPath(segment!), lines.join('\n'));
    if (asked > 0) rmSync(store.localPath(`${dirname(dirname(dirname(segment!)))}/pages`), { recursive: true });
    const episodes = Array.from({ length: 20 }, (_, i) => syntheticEpisode(100 + i));
    const { totals, tallies } = await world.identify(await world.inputOf(episodes, 'night-2', 'm-1'));
    expect(totals).toMatchObject({ asked, reused: 140 - asked });
    expect(tallies[0]?.note).toContain(`2 damaged lines of the label cache set aside (${segment})`);
  });

  test('a label whose line is damaged after its chunk is asked again, and never counts as refused', async () => {
    const { discovery, plan, labelling } = await world.plan(await world.input(20, 'night-1'));
    const label = async () => {
      for (let chunk = 0; chunk < plan.chunks; chunk++) await world.label(labelling, chunk);
    };
    const tally = () =>
      world.fixture.run(world.activities.tallyRun, {
        ...labelling,
        run: 0,
        discovered: discovery.candidates,
        totals: NOTHING,
        previous: null,
      });
    await label();
    const before = labelCalls();
    const { store } = world.fixture;
    const [segment] = await labelSegments(store, 'parcels', 'night-1');
    const lines = readFileSync(store.localPath(segment!), 'utf8').split('\n');
    lines[3] = lines[3]!.slice(0, 40);
    writeFileSync(store.localPath(segment!), lines.join('\n'));
    await expect(tally()).rejects.toMatchObject({
      type: 'Identify.LabelsLost',
      message: expect.stringContaining(segment!) as string,
    });
    await label();
    expect(labelCalls()).toBe(before + 1);
    expect((await tally()).note).toContain('1 damaged line of the label cache set aside');
  });
});
