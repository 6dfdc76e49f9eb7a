import { type Trajectory, trajectorySchema } from '../contracts/artifacts/trajectory';
import type { LiveSpec } from '../contracts/config/agent-spec';
import type { ArtifactStore } from './artifact-store';
import { layout } from './layout';

const DAY_MS = 86_400_000;

/** What was read of live traffic. */
export interface LiveTraces {
  trajectories: Trajectory[];
  /** Files with lines that are no trajectory, and how many; those lines are left out. */
  unreadable: { key: string; lines: number }[];
}

/**
 * Conversations of live traffic that the gateway has written: those of the last days, the newest days first up to
 * `most`, in the order of their ids. A conversation that went on after its outcome was posted, and got another one, was
 * written twice; it is there once, as on the newest day, and of that day the longest.
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
  /** By the conversation, which is what the task's seed is made from. */
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
 * A line that is no trajectory is told, not thrown: gateways of any age have written it, and one of their faults must
 * not end a run. Most lines are those of adapters, so that they are not checked before the model is known to be wanted.
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
