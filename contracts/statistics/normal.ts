/** 0.975 quantile of the standard normal: half the width of a two-sided 95 % interval, in standard deviations. */
export const Z95 = 1.959963984540054;

/** 0.95 quantile of the standard normal: the distance of a one-sided 95 % bound, in standard deviations. */
export const Z_ONE_SIDED_95 = 1.6448536269514722;

/**
 * Cumulative distribution function of the standard normal; absolute error below 1e-7 (Abramowitz and Stegun 1964,
 * 26.2.17).
 */
export function normalCdf(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  const tail =
    density * t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return x >= 0 ? 1 - tail : tail;
}

/**
 * Quantile of the standard normal, by bisection of `normalCdf` and with its precision.
 * @throws RangeError for p outside (0, 1).
 */
export function normalQuantile(p: number): number {
  if (!(p > 0 && p < 1))
    throw new RangeError(`A normal quantile needs a probability strictly between 0 and 1, not ${p}.`);
  let [low, high] = [-9, 9];
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
