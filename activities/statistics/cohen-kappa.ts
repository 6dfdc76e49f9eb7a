/**
 * Cohen's kappa of two raters who say yes or no (Cohen 1960, Educational and Psychological Measurement 20:37-46). Null
 * without pairs, or if chance alone gives full agreement.
 */
export function cohenKappa(pairs: readonly (readonly [boolean, boolean])[]): number | null {
  if (pairs.length === 0) return null;
  const share = (test: (pair: readonly [boolean, boolean]) => boolean): number =>
    pairs.filter(test).length / pairs.length;
  const [first, second] = [share(([a]) => a), share(([, b]) => b)];
  const chance = first * second + (1 - first) * (1 - second);
  return chance >= 1 ? null : (share(([a, b]) => a === b) - chance) / (1 - chance);
}
