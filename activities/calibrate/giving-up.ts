import type { CalibrationResult } from '../../contracts/artifacts/environment-attempt';
import type { Validation } from '../../contracts/artifacts/environment-check';
import { Z_ONE_SIDED_95 } from '../../contracts/statistics/normal';
import { SAFE_REWARD_FIGURE } from '../environment-checks/checks/safe-reward';

/**
 * The calibration, out of band if giving up earns more than the base model does on average, beyond chance: training
 * would then teach the model to give up. The check `safe-reward` of the validation has what giving up earns.
 */
export function aboveGivingUp(result: CalibrationResult, { checks }: Pick<Validation, 'checks'>): CalibrationResult {
  const safe = checks.flatMap(({ figures }) => figures).find(({ name }) => name === SAFE_REWARD_FIGURE)?.value ?? 0;
  if (safe <= 0 || highestMean(result) >= safe) return result;
  const sentence =
    `Giving up before the capability shows earns ${safe.toFixed(2)}, and the model's mean reward is ` +
    `${result.meanReward.toFixed(2)}: training would teach it to give up. Pay less for that.`;
  return {
    ...result,
    verdict: result.verdict === 'in-band' ? 'uninformative' : result.verdict,
    problems: [sentence, ...result.problems],
  };
}

/** Upper end of the one-sided 95 % interval of the mean reward; Infinity for fewer than two tasks, the units here. */
function highestMean({ meanReward, groupMeans }: CalibrationResult): number {
  const tasks = groupMeans.length;
  if (tasks < 2) return Infinity;
  const center = groupMeans.reduce((sum, mean) => sum + mean, 0) / tasks;
  const variance = groupMeans.reduce((sum, mean) => sum + (mean - center) ** 2, 0) / (tasks - 1);
  return meanReward + Z_ONE_SIDED_95 * Math.sqrt(variance / tasks);
}
