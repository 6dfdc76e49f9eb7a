import { canonicalJson } from '../../contracts/artifacts/trajectory-id';
import { jaccard } from '../statistics/jaccard';
import { type EnvironmentTask, promptOf } from './environment-task';
import { wordRuns, wordsOf } from './words';

/** Words in a run. */
const RUN_WORDS = 3;
/**
 * Two tasks at least this similar are near-duplicates: the value of Lee et al. (2022, ACL, "Deduplicating Training
 * Data").
 */
const SIMILAR = 0.8;
/** Word runs in more than this share of the tasks belong to the common template and do not distinguish tasks. */
const TEMPLATE_SHARE = 0.5;

/**
 * Tasks that nearly repeat an earlier one, as pairs of seeds.
 *
 * A task is compared by the words of its opening and its reference solution, in lower case and without punctuation.
 * Numbers that the solution does not use, such as a running number, all count as the same number. Two tasks are
 * near-duplicates when the Jaccard similarity of their word runs is at least 0.8 (Broder 1997); the template that most
 * tasks share is left out. Similarities are computed exactly: a few hundred tasks need no MinHash.
 */
export function nearDuplicates(tasks: readonly EnvironmentTask[]): [seed: number, earlier: number][] {
  const all = tasks.map(runsOf);
  const frequency = new Map<string, number>();
  for (const runs of all) for (const run of runs) frequency.set(run, (frequency.get(run) ?? 0) + 1);
  const own = all.map(
    (runs) => new Set([...runs].filter((run) => frequency.get(run)! <= TEMPLATE_SHARE * tasks.length)),
  );
  return own.flatMap((runs, index) => {
    const earlier = own.slice(0, index).findIndex((other) => similarity(runs, other) >= SIMILAR);
    return earlier < 0 ? [] : [[tasks[index]!.seed, tasks[earlier]!.seed] as [number, number]];
  });
}

/**
 * Estimate of the number of different tasks from how often each was drawn: Chao's lower bound in its bias-corrected
 * form (Chao 1984, Scandinavian Journal of Statistics 11:265-270). If all n draws differ, it is n (n + 1) / 2.
 */
export function taskSpace(drawn: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const task of drawn) counts.set(task, (counts.get(task) ?? 0) + 1);
  const times = (k: number): number => [...counts.values()].filter((count) => count === k).length;
  const once = times(1);
  return Math.round(counts.size + (once * (once - 1)) / (2 * (times(2) + 1)));
}

function runsOf(task: EnvironmentTask): Set<string> {
  const solution = wordsOf(canonicalJson(task.reference));
  const used = new Set(solution);
  const opening = wordsOf(promptOf(task)).map((word) => (/^\d+$/.test(word) && !used.has(word) ? '0' : word));
  return wordRuns([...opening, ...solution], RUN_WORDS);
}

/** Jaccard similarity. It is 0, without counting, if the sizes alone rule out `SIMILAR`, and 1 for two empty sets. */
function similarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  if (small.size < SIMILAR * large.size) return 0;
  return large.size === 0 ? 1 : jaccard(small, large);
}
