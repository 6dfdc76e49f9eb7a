import { DISCOVERY_SUCCESSES } from '../../../contracts/limits';
import { jaccard } from '../../statistics/jaccard';

/** An episode that discovery may show. */
export interface ShownEpisode {
  id: string;
  /** Position in the file of trajectories. */
  index: number;
  /** Seed of its task. */
  task: number;
  success: boolean;
  /** Words of its opening. */
  opening: ReadonlySet<string>;
}

/** Two trials of one task are more alike than any two openings. */
const SAME_TASK = 2;

/**
 * The failures of one discovery call, with successes among them: one for every few failures, directly after the failure
 * that it resembles most. Trials of the same task come first, then similar openings. No success is shown twice. At a
 * tie the first failure and the first success in the given order count.
 */
export function withSimilarSuccesses(
  failures: readonly ShownEpisode[],
  successes: readonly ShownEpisode[],
): ShownEpisode[] {
  const pairs = failures
    .flatMap((failure) => successes.map((success) => ({ failure, success, likeness: likeness(failure, success) })))
    .sort((a, b) => b.likeness - a.likeness);
  const wanted = Math.ceil(failures.length * DISCOVERY_SUCCESSES);
  const beside = new Map<ShownEpisode, ShownEpisode>();
  const used = new Set<ShownEpisode>();
  for (const { failure, success } of pairs) {
    if (beside.size === wanted) break;
    if (beside.has(failure) || used.has(success)) continue;
    beside.set(failure, success);
    used.add(success);
  }
  return failures.flatMap((failure) => [failure, ...(beside.has(failure) ? [beside.get(failure)!] : [])]);
}

const likeness = (a: ShownEpisode, b: ShownEpisode): number =>
  a.task === b.task ? SAME_TASK : jaccard(a.opening, b.opening);
