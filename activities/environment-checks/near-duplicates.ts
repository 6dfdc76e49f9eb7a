import { canonicalJson } from '../../contracts/artifacts/trajectory-id';
import { type ExaminedTask, promptOf } from './examination';

/** Words of one shingle. */
const SHINGLE = 3;
/**
 * From this similarity on two tasks count as one: the value that Lee et al. (2022, ACL, "Deduplicating Training Data")
 * take.
 */
const SIMILAR = 0.8;
/** Shingles that more than this share of the tasks have are the frame of all tasks and say nothing about one. */
const FRAME = 0.5;

/**
 * Tasks that nearly repeat an earlier one, as pairs of seeds. A task is the words of its opening and its reference
 * solution, in lower case without punctuation; numbers that the solution does not use, such as a running number, count
 * as one number. Two tasks are near duplicates from a Jaccard similarity of their shingles of 0.8 on (Broder 1997),
 * with the frame of all tasks left out. Computed exactly: a few hundred tasks need no MinHash.
 */
export function nearDuplicates(tasks: readonly ExaminedTask[]): [seed: number, earlier: number][] {
  const all = tasks.map(shinglesOf);
  const frequency = new Map<string, number>();
  for (const shingles of all) for (const shingle of shingles) frequency.set(shingle, (frequency.get(shingle) ?? 0) + 1);
  const own = all.map(
    (shingles) => new Set([...shingles].filter((shingle) => frequency.get(shingle)! <= FRAME * tasks.length)),
  );
  return own.flatMap((shingles, index) => {
    const earlier = own.slice(0, index).findIndex((other) => jaccard(shingles, other) >= SIMILAR);
    return earlier < 0 ? [] : [[tasks[index]!.seed, tasks[earlier]!.seed] as [number, number]];
  });
}

/**
 * Estimate of how many different tasks there are, from how often each was drawn: Chao's lower bound in its
 * bias-corrected form (Chao 1984, Scandinavian Journal of Statistics 11:265-270). n draws that are all different give n
 * (n + 1) / 2.
 */
export function taskSpace(drawn: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const task of drawn) counts.set(task, (counts.get(task) ?? 0) + 1);
  const times = (k: number): number => [...counts.values()].filter((count) => count === k).length;
  const once = times(1);
  return Math.round(counts.size + (once * (once - 1)) / (2 * (times(2) + 1)));
}

/** Words in lower case, without punctuation. */
export const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Runs of `size` words; a shorter text is one run. */
export function shingle(words: readonly string[], size: number): Set<string> {
  if (words.length <= size) return new Set(words.length === 0 ? [] : [words.join(' ')]);
  return new Set(
    Array.from({ length: words.length - size + 1 }, (_, start) => words.slice(start, start + size).join(' ')),
  );
}

function shinglesOf(task: ExaminedTask): Set<string> {
  const solution = wordsOf(canonicalJson(task.reference));
  const used = new Set(solution);
  const opening = wordsOf(promptOf(task)).map((word) => (/^\d+$/.test(word) && !used.has(word) ? '0' : word));
  return shingle([...opening, ...solution], SHINGLE);
}

function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  // No more than the smaller one can be shared, so that most pairs need no counting.
  if (small.size < SIMILAR * large.size) return 0;
  let shared = 0;
  for (const item of small) if (large.has(item)) shared++;
  const union = a.size + b.size - shared;
  return union === 0 ? 1 : shared / union;
}
