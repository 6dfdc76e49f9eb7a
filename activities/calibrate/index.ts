import type { SandboxActivities } from '../../contracts/messages/activities';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { createCalibrateEnvironment } from './calibrate-environment';
import { createRollOutRefused } from './roll-out-refused';

/**
 * Activities of the calibrate stage: they show the base model's results in an environment, and whether it can learn
 * there.
 */
export function createCalibrationActivities(
  deps: RolloutDeps,
): Pick<SandboxActivities, 'calibrateEnvironment' | 'rollOutRefused'> {
  return { calibrateEnvironment: createCalibrateEnvironment(deps), rollOutRefused: createRollOutRefused(deps) };
}
