/**
 * Likelihood ratio of a rate of `alternative` against one of `null`, for `events` in `trials`. While trials come in, it
 * is a test martingale under the null: it ever exceeds 1 / level with at most the probability `level` (Ville 1939; Wald
 * 1945, Annals of Mathematical Statistics 16:117-186). So it may be looked at after every trial. That also holds for
 * any rate below that of the null.
 */
export function likelihoodRatio(
  { events, trials }: { events: number; trials: number },
  rates: { null: number; alternative: number },
): number {
  return (rates.alternative / rates.null) ** events * ((1 - rates.alternative) / (1 - rates.null)) ** (trials - events);
}
