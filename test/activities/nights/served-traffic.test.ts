// tier: integration (real store)
import { planNight } from '../../../activities/nights/plan-night';
import { readServedTraffic } from '../../../activities/nights/served-traffic';
import {
  type AnsweringModel,
  type RolloutSummary,
  SEVERAL_MODELS,
  type Trajectory,
  trajectorySchema,
} from '../../../contracts/artifacts/trajectory';
import { trajectoryId } from '../../../contracts/artifacts/trajectory-id';
import type { RunContext } from '../../../contracts/messages/run-context';
import { addVersion, changeNights, changeRegistry, getLines, layout, putLines, readNights } from '../../../store';
import { RunFixture } from '../run-fixture';

const DAY_MS = 86_400_000;
/** Noon of a day. */
const NOW = Date.parse('2026-11-24T12:00:00Z');
const WEIGH = 'weigh@0123456789ab';

describe('readServedTraffic', () => {
  let fixture: RunFixture;
  beforeEach(async () => {
    fixture = new RunFixture();
    for (const [runId, name] of [
      ['run-0', 'other@0123456789ab'],
      ['run-00', WEIGH],
    ] as const)
      await changeRegistry(fixture.store, 'parcels', (registry) =>
        addVersion(registry, {
          ...{ runId, createdAt: '2026-11-20T00:00:00Z', baseModelSha256: '0'.repeat(64) },
          adapters: [
            { name, capabilityId: 'weigh', summary: 'weigh', key: `adapters/parcels/${name}`, sha256: '1'.repeat(64) },
          ],
          routedMinusBase: { estimate: 0.5, low: 0.4, high: 0.6 },
          judgedRouter: {
            kind: 'base',
            artifact: { key: 'r.json', sha256: '0'.repeat(64), bytes: 1, mediaType: 'application/json' },
          },
        }),
      );
  });
  afterEach(() => fixture.dispose());

  const trajectory = (
    seed: number,
    model: string,
    by?: number | AnsweringModel[],
    turns = 1,
    split: 'live' | 'train' = 'live',
  ) => {
    const answeredBy = typeof by === 'number' ? [{ model, version: by }] : by;
    const messages: Trajectory['messages'] = Array.from({ length: turns }, () => [
      { role: 'user' as const, content: `where is parcel ${seed}?` },
      { role: 'assistant' as const, content: 'gone' },
    ]).flat();
    const task = { seed, split };
    const success = seed % 2 === 0;
    return trajectorySchema.parse({
      ...{ id: trajectoryId({ task, trial: 0, model, messages }), task, trial: 0, model, samplingSeed: 0, messages },
      ...{ reward: success ? 1 : 0, success, finish: 'done', steps: 0, tags: [], diagnostics: {} },
      ...{
        usage: { promptTokens: 9, completionTokens: 1, cachedTokens: 0 },
        ...(answeredBy && { answeredBy }),
      },
    });
  };
  const write = (now: number, ...traces: Trajectory[]) =>
    putLines(fixture.store, layout.traces('parcels', new Date(now).toISOString().slice(0, 10)), 'live.jsonl', traces);

  /** A night whose version played 4 tasks; `seeds` are those of the conversations that joined them. */
  const read = async (
    runId: string,
    {
      now = NOW,
      most = 50,
      live = {},
      lost = {},
    }: { now?: number; most?: number; live?: object; lost?: Partial<RolloutSummary> } = {},
  ) => {
    const { store } = fixture;
    const context = await fixture.prepare('http://127.0.0.1:9/v1', { collect: { live } }, undefined, runId);
    const planned = await fixture.run(planNight.bind(null, store), context);
    const rollouts = [0, 1, 2, 3].map((seed) => trajectory(seed, WEIGH, undefined, 1, 'train'));
    const served = {
      trajectories: await putLines(store, layout.evaluation(runId), 'arm-night-served.jsonl', rollouts),
      ...{ episodes: 4, successes: 2, failures: 2, promptTokens: 36, completionTokens: 4, seconds: 1 },
      ...lost,
    };
    const input = { context, version: planned.measure!.version, served, most };
    const activity = readServedTraffic.bind(null, store);
    const run = () => fixture.run(activity, input, fixture.activity({ scheduledTimestampMs: now }));
    const learned = await run();
    expect(await run()).toEqual(learned);
    const all = await getLines(store, learned.trajectories, trajectorySchema);
    expect(all.slice(0, 4)).toEqual(rollouts);
    return {
      learned,
      served,
      seeds: all
        .slice(4)
        .map(({ task }) => task.seed)
        .sort((a, b) => a - b),
    };
  };
  const decided = (runId: string) =>
    changeNights(fixture.store, 'parcels', (before) => ({
      ...before,
      nights: before.nights.map((night) => (night.runId === runId ? { ...night, outcome: 'nothing-new' } : night)),
    }));

  test('what the version answered joins its rollouts', async () => {
    const base = { model: 'base', version: 2 };
    const moved = [{ model: WEIGH, version: 2 }, base];
    await write(
      NOW,
      ...[trajectory(100, WEIGH, 2), trajectory(101, 'base', 2), trajectory(102, SEVERAL_MODELS, moved)],
      trajectory(103, WEIGH, 2),
      // Of another version, a client's own choice, base in place of what failed, and one whose model is not known.
      ...[trajectory(104, WEIGH, 1), trajectory(105, 'base', [{ model: 'base', version: null }])],
      ...[trajectory(106, 'base', [{ ...base, standsIn: true }]), trajectory(107, 'other@0123456789ab')],
      ...[
        trajectory(108, 'base'),
        trajectory(109, 'mixed'),
        trajectory(110, WEIGH, [...moved, { ...base, version: 3 }]),
      ],
    );
    const { learned, served, seeds } = await read('run-1');
    expect(seeds).toEqual([100, 101, 102, 103]);
    expect(learned).toMatchObject({ episodes: 8, live: 4, successes: 4, failures: 4, promptTokens: 36 });
    expect(learned.trajectories.key).toMatch(/^runs\/run-1\/night\/served-and-live-/);
    expect(served.episodes).toBe(4);
  });

  test('failed episodes stay counted beside them, and a conversation that failed does not join', async () => {
    await write(NOW, trajectory(100, WEIGH, 2), {
      ...trajectory(101, WEIGH, 2),
      ...{ finish: 'failed' as const, failedBecause: 'judge' },
    });
    const { learned, seeds } = await read('run-1', { lost: { episodes: 6, failed: { judge: 2 } } });
    expect(seeds).toEqual([100]);
    expect(learned).toMatchObject({ episodes: 7, live: 1, successes: 3, failures: 2, failed: { judge: 2 } });
  });

  test('without such conversations the rollouts stay as they are', async () => {
    await write(NOW, trajectory(100, 'base'));
    const { learned, served } = await read('run-1');
    expect(learned).toEqual(served);
  });

  test('the newest days come first, at most as many as wanted, and none older than collect.live.days', async () => {
    await write(NOW, trajectory(100, WEIGH, 2), trajectory(101, WEIGH, 2));
    await write(NOW - DAY_MS, trajectory(102, WEIGH, 2));
    await write(NOW - 2 * DAY_MS, trajectory(103, WEIGH, 2));
    expect((await read('run-1', { most: 3 })).seeds).toEqual([100, 101, 102]);
    expect((await read('run-2', { live: { days: 1 } })).seeds).toEqual([100, 101]);
    expect((await read('run-3')).seeds).toEqual([100, 101, 102, 103]);
  });

  test('a night reads what came in since the last one that decided, also on the same day', async () => {
    await write(NOW - DAY_MS, trajectory(100, WEIGH, 2), trajectory(102, WEIGH, 2));
    expect((await read('run-1', { now: NOW - DAY_MS })).seeds).toEqual([100, 102]);
    // It failed before it decided: what it read counts as unread.
    expect((await read('run-2')).seeds).toEqual([100, 102]);
    await decided('run-2');
    await write(NOW, trajectory(104, WEIGH, 2), trajectory(102, WEIGH, 2, 3));
    // A conversation that went on is another one.
    expect((await read('run-3')).seeds).toEqual([102, 104]);
    await decided('run-3');
    await write(NOW + DAY_MS, trajectory(106, WEIGH, 2));
    expect((await read('run-4', { now: NOW + DAY_MS })).seeds).toEqual([106]);
    await decided('run-4');
    expect((await read('run-5', { now: NOW + 2 * DAY_MS })).seeds).toEqual([]);
    // Ids are kept only while they are needed.
    const { nights } = await readNights(fixture.store, 'parcels');
    expect(nights.map(({ live }) => live?.read.length)).toEqual([0, 0, 0, 1, 0]);
  });

  test('lines that cannot be read are counted, and end nothing', async () => {
    await write(NOW, trajectory(100, WEIGH, 2));
    await fixture.store.put(layout.traces('parcels', '2026-11-23'), 'live.jsonl', 'half a li\n{"model":7}\n');
    const { learned, seeds } = await read('run-1');
    expect(seeds).toEqual([100]);
    expect(learned.unreadable).toBe(2);
  });

  test('the plan bounds it by the block, and off means off', async () => {
    const plan = async (live: object, runId: string) => {
      const context: RunContext = await fixture.prepare(
        'http://127.0.0.1:9/v1',
        { collect: { live } },
        undefined,
        runId,
      );
      return fixture.run(planNight.bind(null, fixture.store), context);
    };
    const planned = await plan({}, 'run-1');
    expect(planned.measure!.live).toBe(20);
    expect(planned.summary).toContain('identifies with at most 20 conversations that it answered, too.');
    expect((await plan({ most: 7 }, 'run-2')).measure!.live).toBe(7);
    const off = await plan({ most: 0 }, 'run-3');
    expect(off.measure).not.toHaveProperty('live');
    expect(off.summary).not.toContain('conversations');
  });
});
