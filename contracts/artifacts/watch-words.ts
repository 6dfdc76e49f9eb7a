import { pointsText } from '../share-text';
import type { ProbePairs, TrainingWatch } from './training';

/** The adapter's pass rate minus the base model's on the same tasks; 0 without tasks. */
export const pairedGain = ({ rollouts, passed, basePassed }: ProbePairs): number =>
  rollouts === 0 ? 0 : (passed - basePassed) / rollouts;

/** The sums of several probes' tasks. */
export const sumOfPairs = (pairs: readonly ProbePairs[]): ProbePairs => ({
  rollouts: pairs.reduce((sum, one) => sum + one.rollouts, 0),
  passed: pairs.reduce((sum, one) => sum + one.passed, 0),
  basePassed: pairs.reduce((sum, one) => sum + one.basePassed, 0),
  lost: pairs.reduce((sum, one) => sum + one.lost, 0),
});

/** Whether the watch ended a training because tasks that do not call for the capability were lost. */
export const sawHarm = ({ ended }: Pick<TrainingWatch, 'ended'>): boolean => ended?.why === 'loss';

/**
 * What the watch decided, as a clause: why the training ended, and which checkpoint is kept.
 * Null if all iterations were trained and the last one is kept.
 */
export function watchClause(watch: TrainingWatch): string | null {
  const { ended, kept, probes } = watch;
  const last = probes.at(-1)?.iteration ?? 0;
  const keeps = kept === 0 ? 'no checkpoint is kept' : `kept iteration ${kept}`;
  if (ended === null) {
    if (kept === last) return null;
    return kept === 0 ? `the probes find base better than each checkpoint; ${keeps}` : `${keeps} of ${last}`;
  }
  if (ended.why === 'no-gain')
    return `ended at iteration ${ended.iteration}: neither target nor reward rose any more; ${keeps}`;
  const { rollouts, passed, basePassed } = probes.at(-1)!.others;
  const lost = pointsText((basePassed - passed) / rollouts, 0);
  return (
    `ended at iteration ${ended.iteration}: tasks that do not need it lost ${lost} ` +
    `(${basePassed} of ${rollouts} passed before, ${passed} now); ${keeps}`
  );
}
