import { Context } from '@temporalio/activity';
import { isPlayed } from '../contracts/artifacts/trajectory';
import type { Repetition } from '../contracts/messages/repair';
import { type ArtifactStore, type LiveTraces, readTraces, type TraceQuery } from '../store';
import { Progress } from './progress';

/**
 * Reads live traffic inside an activity of the stage `collect`. It sends heartbeats, because reading a week of it takes
 * longer than the heartbeat timeout. Lines that are not trajectories are logged and left out,
 * and conversations that failed. Days are counted from the
 * first scheduling of the activity, so that a retry and a repair read the same days.
 * @param rollouts number of rollouts that the stage has played, for its progress.
 * @throws the errors of `readTraces`, and the reason of a cancellation.
 */
export async function readLiveTraffic(
  store: ArtifactStore,
  agent: string,
  query: Omit<TraceQuery, 'now' | 'signal'>,
  { rollouts, repetition }: { rollouts: number; repetition: Repetition | undefined },
): Promise<LiveTraces> {
  const { cancellationSignal: signal, log } = Context.current();
  using _ = new Progress({
    stage: 'collect',
    unit: 'rollouts',
    total: rollouts,
    done: rollouts,
    note: 'reading live traffic',
  });
  const read = await readTraces(store, agent, { ...query, now: scheduledAt(repetition), signal });
  for (const { key, lines } of read.unreadable)
    log.warn('left out lines of live traffic that are not trajectories', { key, lines });
  return { ...read, trajectories: read.trajectories.filter(isPlayed) };
}

/** Time of this activity's first scheduling, in milliseconds since 1970. */
export const scheduledAt = (repetition: Repetition | undefined): number =>
  repetition?.scheduledAtMs ?? Context.current().info.scheduledTimestampMs;

/** The number of left-out lines, for the summary of the stage. Empty if there are none. */
export function unreadableLines({ unreadable }: LiveTraces): { unreadable?: number } {
  const lines = unreadable.reduce((sum, file) => sum + file.lines, 0);
  return lines > 0 ? { unreadable: lines } : {};
}
