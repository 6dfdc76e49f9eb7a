import { LABEL_CODES, type RunLabels } from './label-codes';

/**
 * Agreement of the labelling runs on one capability: Fleiss' kappa of the runs as raters of NA, PRESENT and LACKING
 * (Fleiss 1971, Psychological Bulletin 76:378-382). It uses the trajectories with at least two labels, and each of
 * these counts once, however many labels it has. Null with fewer than two runs. Also null if only one label was ever
 * given, because chance then gives full agreement.
 */
export function fleissKappa(labels: RunLabels): number | null {
  const categories = [LABEL_CODES.NA, LABEL_CODES.PRESENT, LABEL_CODES.LACKING];
  const totals = [0, 0, 0];
  let ratings = 0;
  let subjects = 0;
  let observed = 0;
  for (let i = 0; i < (labels[0]?.length ?? 0); i++) {
    const counts = categories.map((code) => labels.reduce((n, run) => n + (run[i] === code ? 1 : 0), 0));
    const raters = counts.reduce((a, b) => a + b, 0);
    if (raters < 2) continue;
    subjects++;
    ratings += raters;
    counts.forEach((n, c) => (totals[c]! += n));
    observed += counts.reduce((sum, n) => sum + n * (n - 1), 0) / (raters * (raters - 1));
  }
  if (subjects === 0) return null;
  const chance = totals.reduce((sum, n) => sum + (n / ratings) ** 2, 0);
  return chance >= 1 ? null : (observed / subjects - chance) / (1 - chance);
}
