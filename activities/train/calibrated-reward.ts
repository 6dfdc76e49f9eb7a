import { calibrationResultSchema, type CalibrationResult } from '../../contracts/artifacts/environment-attempt';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { reusableCalibrationSchema } from '../../contracts/artifacts/reuse';
import type { TrainingJob } from '../../contracts/artifacts/training';
import type { TrainInput } from '../../contracts/messages/sharpen-stage';
import { type ArtifactStore, getJson } from '../../store';
import { calibrationKey } from '../reuse/content-keys';
import { takeReusable } from '../reuse/reuse-records';
import { sampleDeviation } from '../statistics/mean';

/**
 * Rewards of the base model in the calibration of the training's environment. The trainer compares its first rewards
 * with them. Undefined without such a record. Also undefined for a training on several environments, since each
 * capability's own training makes the comparison.
 */
export async function calibratedReward(
  store: ArtifactStore,
  prepared: PreparedSpec,
  { context, environments }: TrainInput,
): Promise<TrainingJob['calibratedReward']> {
  const [environment, ...others] = environments;
  if (environment === undefined || others.length > 0) return undefined;
  const key = calibrationKey(prepared, environment.source.sha256, context.seed);
  const result = await takeReusable(store, context.agent, key, reusableCalibrationSchema, ({ detail }) =>
    getJson(store, detail, calibrationResultSchema),
  );
  return result === null ? undefined : rewardOf(result);
}

/** Mean and variances of a calibration's rewards; undefined with fewer than two tasks. */
export function rewardOf(result: CalibrationResult): TrainingJob['calibratedReward'] {
  const { groupMeans, rewardStd, meanReward, rolloutsInMeans: each } = result;
  const deviation = sampleDeviation(groupMeans);
  if (deviation === null) return undefined;
  const tasks = groupMeans.length;
  const within = Math.max(0, rewardStd ** 2 - (deviation ** 2 * (tasks - 1)) / tasks);
  // One rollout of each task does not separate the two. Then the whole variance counts as a difference between tasks.
  const withinTask = each > 1 ? (within * each) / (each - 1) : 0;
  return {
    mean: meanReward,
    tasks,
    standardError: deviation / Math.sqrt(tasks),
    betweenTasks: Math.max(0, deviation ** 2 - withinTask / each),
    withinTask,
  };
}
