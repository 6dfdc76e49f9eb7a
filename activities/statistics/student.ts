import { normalCdf, Z_ONE_SIDED_95, Z95 } from '../../contracts/statistics/normal';

/**
 * 0.975 quantile of Student's t, by the Cornish-Fisher expansion (Abramowitz and Stegun 1964, 26.7.5). `df` is the
 * degrees of freedom; the error is below 0.01 for df of at least 4.
 */
export const student95 = (df: number): number => studentQuantile(Z95, df);

/** 0.95 quantile of Student's t, for one-sided bounds, by the same expansion. */
export const studentOneSided95 = (df: number): number => studentQuantile(Z_ONE_SIDED_95, df);

function studentQuantile(z: number, df: number): number {
  return (
    z +
    (z ** 3 + z) / (4 * df) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * df ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * df ** 3)
  );
}

/**
 * P(T > t) of Student's t with `df` degrees of freedom, by Wallace's normal transform (1959, Annals of Mathematical
 * Statistics 30:1124-1130). At df = 4, two digits are right.
 */
export function studentTail(t: number, df: number): number {
  const z = ((8 * df + 1) / (8 * df + 3)) * Math.sqrt(df * Math.log1p((t * t) / df));
  return 1 - normalCdf(t >= 0 ? z : -z);
}
