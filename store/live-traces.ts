import { type Trajectory, trajectorySchema } from '../contracts/artifacts/trajectory';
import type { LiveSpec } from '../contracts/config/agent-spec';
import type { ArtifactStore } from './artifact-store';
import { layout } from './layout';

const DAY_MS = 86_400_000;

/** The result of reading live traffic. */
export interface LiveTraces {
  trajectories: Trajectory[];
  /** Files with lines that are not trajectories, and the number of these lines. They are left out. */
  unreadable: { key: string; lines: number }[];
}

/** The beginning of a line, before it is checked. */
interface TraceHead {
  id: unknown;
  model: string;
  answeredBy: unknown;
}

/** Which conversations are read. */
export interface TraceQuery extends Pick<LiveSpec, 'days' | 'most'> {
  /**
   * Whether a conversation is wanted. It is called before the whole line is checked, because most lines are not wanted.
   */
  wants: (head: TraceHead) => boolean;
  /** Milliseconds since 1970. */
  now: number;
  /** Ends the reading between two files when it fires. */
  signal?: AbortSignal;
}

/**
 * What `collect.live` asks for.
 * @param baseModel served name of the base model; with `models: base`, conversations that an adapter answered are left
 *   out.
 */
export const collectedTraces = (
  { days, most, models }: LiveSpec,
  baseModel: string,
): Pick<TraceQuery, 'days' | 'most' | 'wants'> => ({
  days,
  most,
  wants: ({ model }) => models === 'any' || model === baseModel,
});

/**
 * Reads conversations of live traffic that the gateway has written in the last `days` days. Returns at most `most`,
 * preferring the newest days, in the order of their ids. A conversation that continued after its outcome was posted was
 * written several times. It is returned once: as on the newest day, and of that day its longest version. It is passed
 * over when something is missing of that version.
 * @throws the signal's reason; StoreCorruptError when a file's bytes are not what its name says.
 */
export async function readTraces(
  store: ArtifactStore,
  agent: string,
  { days, most, wants, now, signal }: TraceQuery,
): Promise<LiveTraces> {
  const unreadable: LiveTraces['unreadable'] = [];
  /** By task seed, which is derived from the conversation. */
  const found = new Map<number, Version>();
  let whole = 0;
  for (let day = 0; day < days && whole < most; day++) {
    const directory = layout.traces(agent, new Date(now - day * DAY_MS).toISOString().slice(0, 10));
    for (const name of await store.list(directory)) {
      if (!name.endsWith('.jsonl')) continue;
      const key = `${directory}/${name}`;
      let badLines = 0;
      signal?.throwIfAborted();
      for (const line of (await store.getNamed(key)).toString('utf8').split('\n')) {
        if (line === '') continue;
        const trajectory = readTrajectory(line, wants);
        if (trajectory === 'unreadable') badLines++;
        else if (trajectory !== 'unwanted') {
          const { seed } = trajectory.task;
          const before = found.get(seed);
          const version = versionOf(day, trajectory);
          if (before === undefined ? whole === most && version.whole !== null : !replaces(version, before)) continue;
          found.set(seed, version);
          whole += Number(version.whole !== null) - Number((before?.whole ?? null) !== null);
        }
      }
      if (badLines > 0) unreadable.push({ key, lines: badLines });
    }
  }
  return {
    trajectories: [...found.values()].flatMap(({ whole }) => whole ?? []).sort((a, b) => (a.id < b.id ? -1 : 1)),
    unreadable,
  };
}

/** A conversation as it was written once. */
interface Version {
  day: number;
  messages: number;
  /** Null: something is missing of it. */
  whole: Trajectory | null;
}

const versionOf = (day: number, trajectory: Trajectory): Version => ({
  day,
  messages: trajectory.messages.length,
  whole: trajectory.leftOut === undefined ? trajectory : null,
});

/** Whether a version takes the place of another. Of two with as many messages, the one that lacks something counts. */
const replaces = (one: Version, before: Version): boolean =>
  one.day === before.day &&
  (one.messages > before.messages || (one.messages === before.messages && one.whole === null));

/**
 * Reads a line. For a line that is not a trajectory it returns `unreadable` and does not throw: any version of the
 * gateway may have written it, and that must not end a run.
 */
function readTrajectory(line: string, wants: TraceQuery['wants']): Trajectory | 'unreadable' | 'unwanted' {
  try {
    const value = JSON.parse(line) as { id?: unknown; model?: unknown; answeredBy?: unknown };
    const { id, model, answeredBy } = value;
    if (typeof model === 'string' && !wants({ id, model, answeredBy })) return 'unwanted';
    return trajectorySchema.parse(value);
  } catch {
    return 'unreadable';
  }
}
