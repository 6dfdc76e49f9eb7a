import type { SandboxActivities } from '../../contracts';
import type { RolloutDeps } from '../deps';
import { createCalibrateEnvironment } from './calibrate-environment';
import { createValidateEnvironment } from './validate-environment';

/** Activities that decide whether a synthesised environment is fit to train in. */
export function createValidationActivities(deps: RolloutDeps): Pick<SandboxActivities, 'validateEnvironment' | 'calibrateEnvironment'> {
  return {
    validateEnvironment: createValidateEnvironment(deps),
    calibrateEnvironment: createCalibrateEnvironment(deps),
  };
}

export { calibrationOf, passAtK, type CalibrationThresholds } from './calibration';
export { ALLOWED_MODULES } from './static-inspection';
