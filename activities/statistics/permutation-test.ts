/** Values are rounded to this many parts of 1, so that sums are whole numbers. */
const PARTS = 100;

/**
 * Exact one-sided permutation test of two means (Fisher 1935; Pitman 1937, Supplement to the Journal of the Royal
 * Statistical Society 4:119-130): the probability that a random choice of as many of all values has a mean as high as
 * that of `a`, or higher. It assumes nothing about the values' distribution. 1 if either group is empty.
 * @param a in [0, 1], as `b`; both are rounded to hundredths. Time grows with the cube of their number.
 */
export function chanceOfHigherMean(a: readonly number[], b: readonly number[]): number {
  if (a.length === 0 || b.length === 0) return 1;
  const rounded = (value: number): number => Math.round(PARTS * value);
  const most = PARTS * a.length;
  // Number of choices of k values with each sum.
  const choices = Array.from({ length: a.length + 1 }, () => new Float64Array(most + 1));
  choices[0]![0] = 1;
  for (const value of [...a, ...b].map(rounded)) {
    for (let k = a.length; k > 0; k--) {
      const [from, to] = [choices[k - 1]!, choices[k]!];
      for (let sum = value; sum <= most; sum++) to[sum]! += from[sum - value]!;
    }
  }
  const observed = a.map(rounded).reduce((sum, value) => sum + value, 0);
  const all = choices[a.length]!.reduce((sum, count) => sum + count, 0);
  return choices[a.length]!.subarray(observed).reduce((sum, count) => sum + count, 0) / all;
}
