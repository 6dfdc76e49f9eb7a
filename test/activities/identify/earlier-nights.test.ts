// tier: integration (real store)
import { withEarlierNights } from '../../../activities/identify/earlier-nights';
import { type Nights } from '../../../contracts/artifacts/night';
import { changeNights, getLines, layout, putLines } from '../../../store';
import { artifactError } from '../../../store/errors';
import { type RolloutSummary, trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';
import { RunFixture } from '../run-fixture';

const CONTENT = { environment: 'e', baseModel: 'b', options: 'o' };
const context = { agent: 'parcels', runId: 'night-9' };

let fixture: RunFixture;
beforeEach(() => void (fixture = new RunFixture()));
afterEach(() => fixture.dispose());

const episodes = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => syntheticEpisode(from + i)).map((one, i) => ({ ...one, success: i === 0 }));

async function rollouts(runId: string, from: number, count: number): Promise<RolloutSummary> {
  const all = episodes(from, count);
  return {
    trajectories: await putLines(fixture.store, layout.trajectories(runId), 'served.jsonl', all),
    ...{ episodes: count, successes: 1, failures: count - 1 },
    ...{ promptTokens: 7, completionTokens: 8, seconds: 9 },
  };
}

/** Nights in their order; the last is tonight. */
async function nights(...given: Partial<Nights['nights'][number]>[]): Promise<void> {
  await changeNights(fixture.store, 'parcels', (before) => ({
    ...before,
    nights: given.map((one, i) => ({
      ...{ runId: `night-${i}`, night: i + 1, version: 1, content: CONTENT },
      ...{ outcome: 'nothing-new' as const, reasons: [], worked: true },
      ...one,
    })),
  }));
}
const tonight = { runId: 'night-9', outcome: null, worked: false };

test('rollouts of earlier nights with the same inputs follow those of tonight, each once', async () => {
  const own = await rollouts('night-9', 0, 4);
  const earlier = await rollouts('night-0', 2, 5);
  await nights({ served: earlier.trajectories }, tonight);
  const pooled = await withEarlierNights(fixture.store, context, own);
  // Two of the five were played tonight as well.
  expect(pooled).toMatchObject({ earlier: 3, rollouts: { episodes: 7, promptTokens: 7 } });
  const all = await getLines(fixture.store, pooled!.rollouts.trajectories, trajectorySchema);
  expect(all.map(({ task }) => task.seed)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  expect(pooled!.rollouts.successes).toBe(all.filter(({ success }) => success).length);
  expect(pooled!.rollouts.failures).toBe(7 - pooled!.rollouts.successes);
});

test('failed episodes of tonight stay counted', async () => {
  const own = { ...(await rollouts('night-9', 0, 4)), episodes: 6, failed: { judge: 2 } };
  await nights({ served: (await rollouts('night-0', 4, 3)).trajectories }, tonight);
  const { rollouts: pooled } = (await withEarlierNights(fixture.store, context, own))!;
  expect(pooled).toMatchObject({ episodes: 9, successes: 2, failures: 5, failed: { judge: 2 } });
});

test.each([
  ['another version', { version: 2 }],
  ['another environment', { content: { ...CONTENT, environment: 'new' } }],
  ['another model', { content: { ...CONTENT, baseModel: 'new' } }],
  ['no decision', { outcome: null }],
])('a night with %s is no evidence', async (_, night) => {
  const own = await rollouts('night-9', 0, 4);
  await nights({ served: (await rollouts('night-0', 10, 4)).trajectories, ...night }, tonight);
  expect(await withEarlierNights(fixture.store, context, own)).toBeNull();
});

test('at most the latest three nights count, and what a night can no longer give is left out', async () => {
  const own = await rollouts('night-9', 0, 2);
  const refs = await Promise.all([1, 2, 3, 4, 5].map((n) => rollouts(`night-${n}`, 10 * n, 2)));
  await fixture.store.remove(refs[3]!.trajectories.key, Number.MAX_SAFE_INTEGER);
  await nights(...refs.map(({ trajectories }) => ({ served: trajectories })), tonight);
  const pooled = await withEarlierNights(fixture.store, context, own);
  const all = await getLines(fixture.store, pooled!.rollouts.trajectories, trajectorySchema);
  expect(all.map(({ task }) => task.seed)).toEqual([0, 1, 50, 51, 30, 31]);
});

test('of a file that is lost while it is read nothing counts, and another night may give the same episodes', async () => {
  const own = await rollouts('night-9', 0, 2);
  const [older, lost] = [await rollouts('night-0', 10, 4), await rollouts('night-1', 10, 3)];
  const { store } = fixture;
  const whole = store.lines.bind(store);
  jest.spyOn(store, 'lines').mockImplementation(async function* (ref) {
    yield* whole(ref);
    if (ref.key === lost.trajectories.key) throw artifactError('missing', ref.key, 'is missing');
  });
  await nights({ served: older.trajectories }, { served: lost.trajectories }, tonight);
  const pooled = await withEarlierNights(fixture.store, context, own);
  const all = await getLines(fixture.store, pooled!.rollouts.trajectories, trajectorySchema);
  expect(all.map(({ task }) => task.seed)).toEqual([0, 1, 10, 11, 12, 13]);
  expect(pooled).toMatchObject({ earlier: 4, rollouts: { episodes: 6, successes: 2, failures: 4 } });
});

test('a repeated call uses the same nights, whatever has ended since', async () => {
  const own = await rollouts('night-9', 0, 2);
  const [first, second] = [await rollouts('night-0', 10, 2), await rollouts('night-1', 20, 2)];
  await nights({ served: first.trajectories }, { outcome: null }, tonight);
  const pooled = await withEarlierNights(fixture.store, context, own);
  await nights({ served: first.trajectories }, { served: second.trajectories }, tonight);
  expect(await withEarlierNights(fixture.store, context, own)).toEqual(pooled);
});
