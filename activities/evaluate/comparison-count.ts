import type { Comparison, Nights } from '../../contracts/artifacts/night';
import type { Judging } from '../../contracts/artifacts/evaluation-plan';
import { confidenceOfComparison } from '../../contracts/statistics/error-spending';
import { type ArtifactStore, changeNights, readNights } from '../../store';
import { recordedComparisons, withRecordedComparisons } from './recorded-comparisons';

/** How strictly a run's comparison is judged, by the comparisons that were made before. Writes nothing. */
export async function judgingOf(store: ArtifactStore, agent: string, own: Comparison, confidence: number) {
  const recorded = await recordedComparisons(store, agent);
  return judging(withRecordedComparisons(await readNights(store, agent), own, recorded), own, confidence);
}

/**
 * Counts a run's comparison and returns how strictly it is judged. A repeated call does not count it twice. A counted
 * comparison stays counted, because its result is known.
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
 * A version implies its base model. Comparisons without a version have base as the rival, so their base models must be
 * equal.
 */
const hasSameRival = (a: Comparison, b: Comparison): boolean =>
  a.against === b.against && (a.against !== null || a.baseModel === b.baseModel);
