import type { Nights } from '../../contracts/artifacts/night';
import { failedCount } from '../../contracts/failed-episodes';
import { type RolloutSummary, type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { IncumbentVersion } from '../../contracts/messages/evaluate-stage';
import type { ServedTrafficInput } from '../../contracts/messages/night-stage';
import type { Repetition } from '../../contracts/messages/repair';
import { type ArtifactStore, changeNights, layout, readNights, type TraceQuery } from '../../store';
import { readLiveTraffic, scheduledAt, unreadableLines } from '../live-traffic';
import { readPreparedSpec } from '../prepared-spec';
import { storeRollouts } from '../rollout';

const DAY_MS = 86_400_000;
/** Number of digits of a trajectory's id that a night records. */
const ID_DIGITS = 16;

const answeringSchema = trajectorySchema.shape.answeredBy.unwrap();

type Night = Nights['nights'][number];

/**
 * Activity: adds to the rollouts of the active version the live conversations that it answered, the newest days first:
 * at most `most`, not older than `collect.live.days`, and none that an earlier night has decided with. They follow the
 * rollouts in an artifact of their own, so that pass rates use the rollouts alone.
 */
export async function readServedTraffic(
  store: ArtifactStore,
  { context: { runId, agent, spec }, version, served, most }: ServedTrafficInput,
  repetition?: Repetition,
): Promise<RolloutSummary> {
  const { collect } = (await readPreparedSpec(store, spec)).spec;
  const today = dayOf(scheduledAt(repetition));
  const { since, known } = readBefore((await readNights(store, agent)).nights, runId);
  const days = since === null ? collect.live.days : Math.min(collect.live.days, Math.max(1, daysFrom(since, today)));
  const answered = answeredBy(version);
  const query = {
    days,
    most,
    wants: (head) => answered(head) && !known.has(String(head.id).slice(0, ID_DIGITS)),
  } satisfies Partial<TraceQuery>;
  const read = await readLiveTraffic(store, agent, query, { rollouts: served.episodes, repetition });
  const live = read.trajectories;
  const learned = live.length === 0 ? served : await joined(store, layout.night(runId), served, live);
  const ids = live.map(({ id }) => id.slice(0, ID_DIGITS));
  await changeNights(store, agent, (before) => ({
    ...before,
    nights: before.nights.map((night) => {
      if (night.runId === runId) return { ...night, live: { day: today, read: ids } };
      if (night.live === undefined || since === null || night.live.day >= since) return night;
      return { ...night, live: { ...night.live, read: [] } };
    }),
  }));
  return { ...learned, ...unreadableLines(read) };
}

/**
 * Whether a version answered a conversation. The gateway records the version that chose each turn's model, and the
 * turns in which the base model replaced a failed one.
 */
function answeredBy({ version }: IncumbentVersion): TraceQuery['wants'] {
  return (head) => {
    const answering = answeringSchema.safeParse(head.answeredBy);
    return answering.data?.every((one) => one.version === version && one.standsIn === undefined) ?? false;
  };
}

/**
 * The last day on which an earlier night read live traffic, or null, and the conversations that nights read on that
 * day. A night without a decision does not count.
 */
function readBefore(nights: readonly Night[], runId: string): { since: string | null; known: ReadonlySet<string> } {
  const own = nights.findIndex((night) => night.runId === runId);
  const earlier = (own < 0 ? nights : nights.slice(0, own)).flatMap(({ live, outcome }) =>
    live === undefined || outcome === null ? [] : [live],
  );
  const days = earlier.map(({ day }) => day).sort();
  const since = days.at(-1) ?? null;
  return { since, known: new Set(earlier.flatMap(({ day, read }) => (day === since ? read : []))) };
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Number of days between two days, both included. */
const daysFrom = (first: string, last: string): number => (Date.parse(last) - Date.parse(first)) / DAY_MS + 1;

/** Rollouts followed by live traffic. */
async function joined(
  store: ArtifactStore,
  directory: string,
  served: RolloutSummary,
  live: readonly Trajectory[],
): Promise<RolloutSummary> {
  async function* rollouts() {
    for await (const { line } of store.lines(served.trajectories))
      yield trajectorySchema.parse(JSON.parse(line.toString('utf8')));
  }
  const { episodes, seconds, failed, failedTrajectories } = served;
  const finished = { trajectories: rollouts, episodes, seconds, faults: [], damagedLines: 0 };
  const stored = await storeRollouts(store, finished, {
    directory,
    name: 'served-and-live.jsonl',
    stage: 'collect',
    live,
  });
  return {
    ...stored,
    episodes: stored.episodes + failedCount(failed),
    ...(failed && { failed }),
    ...(failedTrajectories && { failedTrajectories }),
  };
}
