import type { Interval } from '../../../contracts/artifacts/evaluation';
import type { TrajectoryOutcomes } from '../verdicts/task-sums';
import type { VerdictRule } from '../verdicts/verdict-rule';
import { type HardlyShown, hardlyShown, lackDecides } from './few-episodes';
import { labelledEpisodes } from './labelled-episodes';
import { partialEffect } from './partial-effect';

/** Least partial effect of a kept capability, as a share of `minGap`: less is within the errors of the labels. */
export const LEAST_EFFECT = 0.5;

/** A candidate as its own contrast sees it. */
export interface ContrastedCandidate {
  kept: boolean;
  /** A quorum of runs reaches both thresholds, whether or not the gap is significant. */
  passed: boolean;
  /** The contrast rejected it for its gap. */
  hasNoGap: boolean;
  /** Gap times coverage. */
  weight: number;
}

/** How the effect changes the verdict of the contrast. */
type EffectVerdict =
  /** The contrast's own verdict stays. */
  | 'as-contrasted'
  /** It is kept: its effect is certain, although the contrast cannot tell. */
  | 'decisive'
  /** It has no effect of its own: it is lacking in the same episodes as `goesWith`. */
  | 'companion'
  /** The episodes do not separate it from `goesWith`. */
  | 'inseparable'
  /** The agent hardly ever showed it, so training has no success to learn from. */
  | 'hardly-shown';

/** The partial effect of a candidate and what follows from it. */
export interface JudgedEffect {
  verdict: EffectVerdict;
  /** Null if it cannot be estimated. */
  effect: Interval | null;
  /** p-value of "no effect", adjusted over candidates (Benjamini and Hochberg 1995). */
  adjustedPValue: number;
  /** Index of the candidate that it goes along with. */
  goesWith: number | null;
  /** Inseparable: about so many more episodes would separate them; null if that cannot be said. */
  moreEpisodes: number | null;
  hardlyShown: HardlyShown | null;
}

/**
 * Judges all candidates together. `labels` has the consensus label codes of each candidate, indexed by trajectory;
 * `contrasted` has the results of the contrast in the same order.
 */
export function judgeEffects(
  labels: readonly Uint8Array[],
  outcomes: TrajectoryOutcomes,
  contrasted: readonly ContrastedCandidate[],
  rule: Pick<VerdictRule, 'minGap' | 'minCoverage' | 'familywiseError'>,
): JudgedEffect[] {
  const episodes = labelledEpisodes(labels, outcomes);
  const effects = labels.map((_, c) => partialEffect(episodes, c));
  const adjusted = benjaminiHochberg(effects.map(({ pValue }) => pValue));
  // Two more ways to be kept share one familywise error.
  const error = rule.familywiseError / (2 * labels.length);
  const hasEffect = effects.map(
    ({ effect }, c) =>
      effect !== null && effect.estimate >= LEAST_EFFECT * rule.minGap && adjusted[c]! <= rule.familywiseError,
  );
  return labels.map((_, c): JudgedEffect => {
    const { effect, pValue, inseparableFrom } = effects[c]!;
    const { kept, passed, hasNoGap, weight } = contrasted[c]!;
    const seldom = kept ? null : hardlyShown(episodes, c, error);
    const judged = { effect, adjustedPValue: adjusted[c]!, goesWith: null, moreEpisodes: null, hardlyShown: seldom };
    if (seldom !== null) return { ...judged, verdict: 'hardly-shown' };
    if (!kept) {
      const isCertain = passed && hasEffect[c]! && pValue <= error;
      const isDecisive = isCertain || (!hasNoGap && lackDecides(episodes, c, error, rule.minCoverage));
      return { ...judged, verdict: isDecisive ? 'decisive' : 'as-contrasted' };
    }
    if (hasEffect[c]!) return { ...judged, verdict: 'as-contrasted' };
    if (inseparableFrom !== null) {
      const other = contrasted[inseparableFrom]!;
      // Of two that nothing separates, the one that explains more failures stands for both.
      const stays = !other.kept || other.weight < weight || (other.weight === weight && c < inseparableFrom);
      return {
        ...judged,
        ...(stays ? { verdict: 'as-contrasted' } : { verdict: 'inseparable', goesWith: inseparableFrom }),
      };
    }
    const goesWith = closest(episodes.lacks, c, hasEffect);
    // Without another capability that has an effect, nothing else explains the failures.
    if (effect === null || goesWith === null) return { ...judged, verdict: 'as-contrasted' };
    if (effect.high < rule.minGap) return { ...judged, verdict: 'companion', goesWith };
    return { ...judged, verdict: 'inseparable', goesWith, moreEpisodes: episodesNeeded(effect, outcomes, rule.minGap) };
  });
}

/** Adjusted p-values of Benjamini and Hochberg (1995, JRSS B 57:289-300): they bound the share of false discoveries. */
export function benjaminiHochberg(pValues: readonly number[]): number[] {
  const order = [...pValues.keys()].sort((a, b) => pValues[b]! - pValues[a]!);
  const adjusted = new Array<number>(pValues.length).fill(1);
  let least = 1;
  order.forEach((at, i) => {
    least = Math.min(least, (pValues[at]! * pValues.length) / (pValues.length - i));
    adjusted[at] = least;
  });
  return adjusted;
}

/** The candidate with an effect whose lacks coincide best with those of `candidate`; null if none does. */
function closest(lacks: readonly Uint8Array[], candidate: number, hasEffect: readonly boolean[]): number | null {
  let best: number | null = null;
  let largest = 0;
  lacks.forEach((other, c) => {
    if (c === candidate || !hasEffect[c]!) return;
    const likeness = phiCoefficient(lacks[candidate]!, other);
    if (likeness > largest) [best, largest] = [c, likeness];
  });
  return best;
}

function phiCoefficient(a: Uint8Array, b: Uint8Array): number {
  let [both, first, second] = [0, 0, 0];
  a.forEach((x, i) => {
    first += x;
    second += b[i]!;
    both += x * b[i]!;
  });
  const n = a.length;
  const spread = Math.sqrt(first * (n - first) * second * (n - second));
  return spread === 0 ? 0 : (n * both - first * second) / spread;
}

/** Largest reported number of episodes, as a multiple of those at hand; beyond it no number could be trusted. */
const MOST_TIMES = 100;

/**
 * About how many more episodes let the interval of the effect exclude 0 or `minGap`, whichever is farther. Its width
 * shrinks with the square root of their number. Null if it excludes 0 already, so that only the number of candidates
 * stands against it, or if the number would be too large.
 */
function episodesNeeded({ estimate, low, high }: Interval, { task }: TrajectoryOutcomes, minGap: number) {
  const ratio = estimate >= minGap / 2 ? (estimate - low) / estimate : (high - estimate) / (minGap - estimate);
  const times = ratio ** 2;
  return times > 1 && times <= MOST_TIMES ? Math.ceil(task.length * (times - 1)) : null;
}
