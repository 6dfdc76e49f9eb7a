// tier: integration
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import { trajectoryId } from '../../../contracts/artifacts/trajectory-id';
import { Drops } from '../../../gateway/drops';
import type { Log } from '../../../gateway/log';
import { Metrics } from '../../../gateway/metrics';
import { TraceWriter } from '../../../gateway/traces/writer';
import { collectedTraces, LocalStore, readTraces } from '../../../store';

function trajectory(seed: number, content = 'hello', more: Partial<Trajectory> = {}): Trajectory {
  const messages: Trajectory['messages'] = [{ role: 'user', content }];
  const task = { seed, split: 'live' as const };
  return {
    ...{ id: trajectoryId({ task, trial: 0, model: 'base', messages }), task, trial: 0, model: 'base', messages },
    ...{ samplingSeed: 0, reward: 0, success: false, finish: 'done' as const, steps: 0, tags: [], diagnostics: {} },
    usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
    ...more,
  };
}

describe('TraceWriter', () => {
  let folder: string;
  let store: LocalStore;
  let metrics: Metrics;
  let writer: TraceWriter;
  const logged: string[] = [];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'whet-traces-'));
    store = new LocalStore(folder);
    metrics = new Metrics();
    logged.length = 0;
    writer = open();
  });
  afterEach(async () => {
    await writer.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const note = (_fields: unknown, words: string) => void logged.push(words);
  const log = { warn: note, error: note } as unknown as Log;
  const open = (patienceMs?: number) => new TraceWriter(store, metrics, new Drops(metrics, log), log, patienceMs);
  const add = (seed: number, content?: string, client = 'a') =>
    writer.add({ client, agent: 'desk', trajectory: trajectory(seed, content) });
  const stored = async () => {
    const query = collectedTraces({ days: 1, most: 100_000, models: 'any' }, 'base');
    const { trajectories } = await readTraces(store, 'desk', { ...query, now: Date.now() });
    return trajectories.map(({ task }) => task.seed).sort((a, b) => a - b);
  };
  const failing = () => jest.spyOn(store, 'putParts').mockRejectedValue(new Error('no space left'));
  const counts = async (result: string) =>
    /** Of agent desk. */
    Number(new RegExp(`agent="desk",result="${result}"} (\\d+)`).exec(await metrics.registry.metrics())?.[1] ?? 0);

  it('has written what it was given when it says so', async () => {
    await add(1);
    expect(await stored()).toEqual([1]);
    await Promise.all([add(2), add(3)]);
    expect([await stored(), await counts('written')]).toEqual([[1, 2, 3], 3]);
    // Those that came together are in one file.
    const [day = ''] = await store.list('traces/desk');
    expect(await store.list(`traces/desk/${day}`)).toHaveLength(2);
  });

  it('counts those that lack something', async () => {
    await writer.add({ client: 'a', agent: 'desk', trajectory: trajectory(1, 'x', { leftOut: ['image'] }) });
    expect([await counts('incomplete'), await counts('written'), await stored()]).toEqual([1, 0, []]);
  });

  it('keeps what cannot be written until it can be', async () => {
    const broken = failing();
    await Promise.all([add(1), add(2)]);
    await add(3);
    expect([await stored(), logged]).toEqual([[], ['traces cannot be written; they wait in memory']]);
    broken.mockRestore();
    await writer.flush();
    expect([await stored(), await counts('written'), await counts('failed')]).toEqual([[1, 2, 3], 3, 0]);
    await add(4);
    expect(await stored()).toEqual([1, 2, 3, 4]);
  });

  it('waits for a store that hangs for a limited time only', async () => {
    writer = open(100);
    const { promise: back, resolve: comeBack } = Promise.withResolvers<void>();
    const putParts = store.putParts.bind(store);
    const hanging = jest.spyOn(store, 'putParts').mockImplementation((...given) => back.then(() => putParts(...given)));
    await add(1);
    await Promise.all([add(2), add(3)]);
    expect([await stored(), logged]).toEqual([[], ['traces cannot be written; they wait in memory']]);
    comeBack();
    await writer.flush();
    expect([await stored(), await counts('failed')]).toEqual([[1, 2, 3], 0]);
    hanging.mockRestore();
    await add(4);
    await writer.flush();
    expect(await stored()).toEqual([1, 2, 3, 4]);
  });

  it('counts what is lost when it stops while the store hangs', async () => {
    writer = open(100);
    jest.spyOn(store, 'putParts').mockReturnValue(new Promise(() => undefined));
    await add(1);
    await add(2);
    await writer.stop();
    expect(await counts('failed')).toBe(2);
    // It is stopped once more.
    writer = open();
  });

  it('drops the oldest first, whatever came while a write failed', async () => {
    const { promise: broken, reject: breakDown } = Promise.withResolvers<never>();
    const failingLate = jest.spyOn(store, 'putParts').mockReturnValue(broken);
    const large = 'x'.repeat(9_000_000);
    for (let i = 1; i < 5; i++) void add(i, large);
    const written = writer.flush();
    for (let i = 5; i < 8; i++) void add(i, large);
    breakDown(new Error('no space left'));
    await written;
    for (let i = 8; i < 10; i++) await add(i, large);
    failingLate.mockRestore();
    await writer.flush();
    expect(await stored()).toEqual([3, 4, 5, 6, 7, 8, 9]);
  });

  it('counts what is lost when it stops while the store cannot be written', async () => {
    failing();
    await Promise.all([add(1), add(2)]);
    await writer.stop();
    expect(await counts('failed')).toBe(2);
  });

  it('a client that fills the memory while the store cannot be written drops its own', async () => {
    const broken = failing();
    await add(1, 'of b', 'b');
    const large = 'x'.repeat(9_000_000);
    for (let i = 2; i < 12; i++) await add(i, large, 'a');
    broken.mockRestore();
    await writer.flush();
    expect(await stored()).toEqual([1, 5, 6, 7, 8, 9, 10, 11]);
    expect(await counts('queue-full')).toBe(3);
    expect(await metrics.registry.metrics()).toContain('whet_gateway_dropped_total{what="trace",client="a"} 3');
  });
});
