import type { Interval } from '../../../contracts/artifacts/evaluation';
import type { TrajectoryOutcomes } from '../verdicts/task-sums';
import type { VerdictRule } from '../verdicts/verdict-rule';
import { lackDecides, neverShown } from './few-episodes';
import { labelledEpisodes } from './labelled-episodes';
import { partialEffect } from './partial-effect';

/** Least partial effect of a kept capability, as a share of `minGap`: less is within the errors of the labels. */
const LEAST_EFFECT = 0.5;

/** A candidate as its own contrast sees it. */
export interface ContrastedCandidate {
  kept: boolean;
  /** A quorum of runs reaches both thresholds, whether or not the gap is significant. */
  passed: boolean;
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
  /** The agent never showed it, so training has no success to learn from. */
  | 'never-shown';

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
  /** Never shown: the episodes that call for it. */
  neverShownIn: number | null;
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
  const error = rule.familywiseError / labels.length;
  const hasEffect = effects.map(
    ({ effect }, c) =>
      effect !== null && effect.estimate >= LEAST_EFFECT * rule.minGap && adjusted[c]! <= rule.familywiseError,
  );
  const explains = contrasted.map(({ kept }, c) => kept && hasEffect[c]!);
  return labels.map((_, c): JudgedEffect => {
    const { effect, inseparableFrom } = effects[c]!;
    const { kept, passed, weight } = contrasted[c]!;
    const neverShownIn = neverShown(episodes, c, error);
    const judged = { effect, adjustedPValue: adjusted[c]!, goesWith: null, moreEpisodes: null, neverShownIn };
    if (neverShownIn !== null) return { ...judged, verdict: 'never-shown' };
    if (!kept) {
      const isDecisive = (passed && hasEffect[c]!) || lackDecides(episodes, c, error, rule.minCoverage);
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
    const goesWith = closest(episodes.lacks, c, explains);
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
function closest(lacks: readonly Uint8Array[], candidate: number, explains: readonly boolean[]): number | null {
  let best: number | null = null;
  let largest = 0;
  lacks.forEach((other, c) => {
    if (c === candidate || !explains[c]!) return;
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

/**
 * About how many more episodes let the interval of the effect exclude 0 or `minGap`, whichever is farther. Its width
 * shrinks with the square root of their number.
 */
function episodesNeeded({ estimate, low, high }: Interval, { task }: TrajectoryOutcomes, minGap: number): number {
  const ratio = estimate >= minGap / 2 ? (estimate - low) / estimate : (high - estimate) / (minGap - estimate);
  return Math.max(1, Math.ceil(task.length * (ratio ** 2 - 1)));
}
