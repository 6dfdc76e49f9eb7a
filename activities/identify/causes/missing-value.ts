import { LABEL_CODES } from '../verdicts/label-codes';
import type { TrajectoryOutcomes } from '../verdicts/task-sums';
import type { ArgumentSources } from './unseen-values';

/** Fewest tasks whose calls have an unseen value, and the largest share of their episodes that succeed. */
const UNSEEN = { tasks: 10, successes: 0.05 };
/** Least share of the failures that lack the capability, and of the calls with an unseen value, that are the same. */
const SAME = 0.5;

/** An argument to which the agent gives values that no message contains, where it lacks a capability. */
export interface MissingValue {
  /** `tool.argument`. */
  argument: string;
  /** Episodes with such a value, and those of them that succeed. */
  episodes: number;
  succeeded: number;
}

/**
 * The argument whose value the agent cannot know where it lacks a capability. Null if there is none: if episodes with
 * such a value succeed at times, it is a choice; if others succeed with a value from a message, there is a source.
 * @param codes consensus label codes of the capability, by trajectory.
 * @param sources by trajectory.
 */
export function missingValue(
  codes: Uint8Array,
  sources: readonly ArgumentSources[],
  { success, task }: TrajectoryOutcomes,
): MissingValue | null {
  const lacking = new Set(Array.from(codes.keys()).filter((i) => codes[i] === LABEL_CODES.LACKING && success[i] === 0));
  const names = new Set([...lacking].flatMap((i) => [...sources[i]!.unseen]));
  const found = [...names].flatMap((argument) => {
    const unseen = sources.flatMap((one, i) => (one.unseen.has(argument) ? [i] : []));
    const succeeded = unseen.filter((i) => success[i] === 1).length;
    const withSource = sources.filter((one, i) => one.seen.has(argument) && success[i] === 1).length;
    const both = unseen.filter((i) => lacking.has(i)).length;
    const isMissing =
      new Set(unseen.map((i) => task[i])).size >= UNSEEN.tasks &&
      Math.max(succeeded, withSource) <= UNSEEN.successes * unseen.length &&
      both >= SAME * unseen.length &&
      both >= SAME * lacking.size;
    return isMissing ? [{ argument, episodes: unseen.length, succeeded, both }] : [];
  });
  const [best] = found.sort((a, b) => b.both - a.both || (a.argument < b.argument ? -1 : 1));
  return best === undefined ? null : { argument: best.argument, episodes: best.episodes, succeeded: best.succeeded };
}
