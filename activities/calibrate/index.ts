import type { SandboxActivities } from '../../contracts/messages/activities';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { createCalibrateEnvironment } from './calibrate-environment';

/** Activities of the calibrate stage: whether the base model can learn anything in a validated environment. */
export function createCalibrationActivities(deps: RolloutDeps): Pick<SandboxActivities, 'calibrateEnvironment'> {
  return { calibrateEnvironment: createCalibrateEnvironment(deps) };
}
