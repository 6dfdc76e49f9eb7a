/** Arithmetic mean; NaN for no values. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Arithmetic mean; 0 for no values. */
export function meanOrZero(values: readonly number[]): number {
  return values.length === 0 ? 0 : mean(values);
}

/**
 * Standard deviation of the values as a whole population: the sum of squares is divided by their number. NaN for none.
 */
export function populationDeviation(values: readonly number[]): number {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
}

/**
 * Standard deviation of the values as a sample: the sum of squares is divided by n - 1. Null for fewer than two values.
 */
export function sampleDeviation(values: readonly number[]): number | null {
  if (values.length < 2) return null;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}
