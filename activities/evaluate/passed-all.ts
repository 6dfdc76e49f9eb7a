/**
 * Chance that k trials of a task all pass, from n trials of which c passed: the share C(c, k) / C(n, k) of the choices
 * of k trials in which all passed. Unbiased for k up to n (pass^k of tau-bench, arXiv 2406.12045).
 * @throws RangeError when there are fewer than k trials.
 */
export function passedAll(trials: readonly number[], k: number): number {
  if (k > trials.length) throw new RangeError(`pass^${k} needs ${k} trials, not ${trials.length}.`);
  const passed = trials.reduce((sum, pass) => sum + pass, 0);
  let share = 1;
  for (let i = 0; i < k; i++) share *= Math.max(0, passed - i) / (trials.length - i);
  return share;
}
