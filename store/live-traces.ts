import { type Trajectory, trajectorySchema } from '../contracts/artifacts/trajectory';
import type { LiveSpec } from '../contracts/config/agent-spec';
import type { ArtifactStore } from './artifact-store';
import { layout } from './layout';

const DAY_MS = 86_400_000;

/** Live traffic as it was read. */
export interface LiveTraces {
  trajectories: Trajectory[];
  /** Files with lines that are not trajectories, and their number. Those lines are left out. */
  unreadable: { key: string; lines: number }[];
}

/**
 * Reads conversations of live traffic that the gateway has written in the last `days` days: at most `most`, those of
 * the newest days first, returned in the order of their ids. A conversation that went on after its outcome was posted
 * was written several times. It is returned once: as on the newest day, and of that day its longest version.
 * @param baseModel served name of the base model; with `models: base`, conversations that an adapter answered are left
 *   out.
 * @param now milliseconds since 1970.
 * @param signal ends the reading between two files.
 * @throws the signal's reason; StoreCorruptError when a file's bytes are not what its name says.
 */
export async function readLiveTraces(
  store: ArtifactStore,
  agent: string,
  { days, most, models }: LiveSpec,
  baseModel: string,
  now: number,
  signal?: AbortSignal,
): Promise<LiveTraces> {
  const unreadable: LiveTraces['unreadable'] = [];
  /** By task seed, which is derived from the conversation. */
  const found = new Map<number, { day: number; trajectory: Trajectory }>();
  for (let day = 0; day < days && found.size < most; day++) {
    const directory = layout.traces(agent, new Date(now - day * DAY_MS).toISOString().slice(0, 10));
    for (const name of await store.list(directory)) {
      if (!name.endsWith('.jsonl')) continue;
      const key = `${directory}/${name}`;
      let badLines = 0;
      signal?.throwIfAborted();
      for (const line of (await store.getNamed(key)).toString('utf8').split('\n')) {
        if (line === '') continue;
        const trajectory = readTrajectory(line, (model) => models === 'any' || model === baseModel);
        if (trajectory === 'unreadable') badLines++;
        else if (trajectory !== 'unwanted') {
          const { seed } = trajectory.task;
          const before = found.get(seed);
          const isLonger = before?.day === day && trajectory.messages.length > before.trajectory.messages.length;
          if (before === undefined ? found.size < most : isLonger) found.set(seed, { day, trajectory });
        }
      }
      if (badLines > 0) unreadable.push({ key, lines: badLines });
    }
  }
  return {
    trajectories: [...found.values()].map(({ trajectory }) => trajectory).sort((a, b) => (a.id < b.id ? -1 : 1)),
    unreadable,
  };
}

/**
 * Reads a line. A line that is not a trajectory is returned as such and not thrown: any version of the gateway may have
 * written it, and that must not end a run. The model is looked at first, because most lines come from adapters and need
 * not be checked.
 */
function readTrajectory(line: string, isWanted: (model: unknown) => boolean): Trajectory | 'unreadable' | 'unwanted' {
  try {
    const value = JSON.parse(line) as { model?: unknown };
    if (typeof value.model === 'string' && !isWanted(value.model)) return 'unwanted';
    return trajectorySchema.parse(value);
  } catch {
    return 'unreadable';
  }
}
