import type { Experiment } from '../../../contracts/artifacts/experiment';
import { likelihoodRatio } from '../../statistics/likelihood-ratio';

/** Of the pairs with one success, the share in which the step made the difference, if it has an effect. */
const DIFFERING = { null: 0.5, alternative: 0.8 };
/** Stakes of the bets against an effect of the margin, as shares of the largest possible stake. */
const STAKES = [0.3, 0.65];
/** Least share of pairs in which the step was changed, and that succeed with it, before "no effect" is believed. */
const SHOWS_EFFECTS = { intervened: 0.75, passed: 0.5 };

/** How an experiment is judged. */
export interface PairRule {
  /** Number of experiments that share `error`. */
  experiments: number;
  /** Chance that any step without an effect is found to have one. Also the chance, for each, of the opposite. */
  error: number;
  /** Least difference between the shares of successes, if the step has an effect. */
  least: number;
  /** The step has no effect of its own if the difference is below this. */
  margin: number;
}

type Pairs = Pick<Experiment, 'pairs' | 'intervened' | 'passedWith' | 'better' | 'worse'>;

/**
 * Judges an experiment. It may be asked after every pair, since both tests are test martingales: under their null
 * hypothesis they ever exceed 1 / level with at most the probability `level` (Ville 1939).
 *
 * An effect is shown by the likelihood ratio of a sign test on the pairs with one success. That there is none is shown
 * by a bet against a mean gain of `margin`, with two stakes (Waudby-Smith and Ramdas 2024, JRSS B 86:1-27). Where the
 * step was hardly ever changed, or where the rest fails anyway, there is nothing to see, so then it is never said.
 */
export function judgePairs(
  { pairs, intervened, passedWith, better, worse }: Pairs,
  { experiments, error, least, margin }: PairRule,
): Experiment['finding'] {
  const evidence = likelihoodRatio({ events: better, trials: better + worse }, DIFFERING);
  if (evidence >= experiments / error && better - worse >= least * pairs) return 'effect';
  if (intervened < SHOWS_EFFECTS.intervened * pairs || passedWith < SHOWS_EFFECTS.passed * pairs) return 'undecided';
  const against = STAKES.map((share) => {
    const stake = share / (1 - margin);
    const wins = (difference: number) => 1 + stake * (margin - difference);
    return wins(1) ** better * wins(-1) ** worse * wins(0) ** (pairs - better - worse);
  });
  return against.reduce((sum, wealth) => sum + wealth, 0) / STAKES.length >= 1 / error ? 'no-effect' : 'undecided';
}
