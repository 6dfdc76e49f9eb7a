import type { Comparison, Nights } from '../../contracts/artifacts/night';
import type { Judging } from '../../contracts/artifacts/evaluation-plan';
import { confidenceOfComparison } from '../../contracts/statistics/error-spending';
import { type ArtifactStore, changeNights, readNights } from '../../store';
import { recordedComparisons, withRecordedComparisons } from './recorded-comparisons';

/** The confidence of a run's comparison, given the earlier comparisons. Writes nothing. */
export async function judgingOf(store: ArtifactStore, agent: string, own: Comparison, confidence: number) {
  const recorded = await recordedComparisons(store, agent);
  return judging(withRecordedComparisons(await readNights(store, agent), own, recorded), own, confidence);
}

/**
 * Counts a run's comparison and returns its confidence. A repeated call does not count it twice. A counted comparison
 * stays counted, because its result is known.
 */
export async function countComparison(store: ArtifactStore, agent: string, own: Comparison, confidence: number) {
  const recorded = await recordedComparisons(store, agent);
  const counted = await changeNights(store, agent, (before) => {
    const nights = withRecordedComparisons(before, own, recorded);
    return nights.comparisons.some((one) => one.runId === own.runId && hasSameRival(one, own))
      ? nights
      : { ...nights, comparisons: [...nights.comparisons, own] };
  });
  return judging(counted, own, confidence);
}

function judging({ comparisons }: Nights, own: Comparison, confidence: number): Judging {
  const alike = comparisons.filter((one) => hasSameRival(one, own));
  const place = alike.findIndex(({ runId }) => runId === own.runId);
  const comparison = 1 + (place < 0 ? alike.length : place);
  return { against: own.against, comparison, confidence: confidenceOfComparison(confidence, comparison) };
}

/**
 * A version implies its base model. Comparisons without a version have base as their rival, so they have the same rival
 * only if the base models are equal.
 */
const hasSameRival = (a: Comparison, b: Comparison): boolean =>
  a.against === b.against && (a.against !== null || a.baseModel === b.baseModel);
