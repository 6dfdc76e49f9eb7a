/** Imports nothing, so that workflows may use it. */

/** Number of failed episodes by cause. */
export type FailedByCause = Readonly<Record<string, number>>;

/** Most causes that are named; the episodes of further ones count under `other`. */
const MOST_CAUSES = 12;

/** The number of all failed episodes. */
export const failedCount = (failed: FailedByCause = {}): number =>
  Object.values(failed).reduce((sum, count) => sum + count, 0);

/** Counts causes. There is one for each failed episode. */
export function countCauses(causes: Iterable<string>): FailedByCause {
  const counts = new Map<string, number>();
  for (const cause of causes) {
    const name = counts.has(cause) || counts.size < MOST_CAUSES ? cause : 'other';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The sum of several counts. */
export const sumFailed = (counts: readonly (FailedByCause | undefined)[]): FailedByCause =>
  countCauses(
    counts.flatMap((failed = {}) =>
      Object.entries(failed).flatMap(([cause, count]) => Array<string>(count).fill(cause)),
    ),
  );

/** Causes that are named in words: a number beside `exit` reads as an exit code. */
const WORDS: Readonly<Record<string, string>> = { exit: 'ended with an error' };

/** Such as `3 failed (2 simulator, 1 judge)`, the most frequent cause first; empty if none failed. */
export function failedText(failed: FailedByCause = {}): string {
  const causes = Object.entries(failed).sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  if (causes.length === 0) return '';
  return `${failedCount(failed)} failed (${causes.map(([cause, count]) => `${count} ${WORDS[cause] ?? cause}`).join(', ')})`;
}

/** What follows the counts where some of the tasks are known, such as `, in tasks such as loan-3`; else empty. */
export const failedTasksText = (tasks: readonly string[] = []): string =>
  tasks.length === 0 ? '' : `, in tasks such as ${tasks.join(', ')}`;

/** Such as `of base, 2 failed (2 simulator); of version 3, 1 failed (1 judge)`; empty if none failed in any arm. */
export const failedOfArms = (arms: readonly (readonly [name: string, failed: FailedByCause | undefined])[]): string =>
  arms.flatMap(([name, failed]) => (failedText(failed) === '' ? [] : [`of ${name}, ${failedText(failed)}`])).join('; ');
