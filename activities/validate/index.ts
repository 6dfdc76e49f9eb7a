import type { SandboxActivities } from '../../contracts/messages/activities';
import type { RolloutDeps } from '../deps';
import { createCalibrateEnvironment } from './calibrate-environment';
import { createValidateEnvironment } from './validate-environment';

/** Activities that decide whether a synthesised environment is fit to train in. */
export function createValidationActivities(
  deps: RolloutDeps,
): Pick<SandboxActivities, 'validateEnvironment' | 'calibrateEnvironment'> {
  return {
    validateEnvironment: createValidateEnvironment(deps),
    calibrateEnvironment: createCalibrateEnvironment(deps),
  };
}

export { calibrationOf, passAtK } from './calibration';
export { certificateOf } from './certificate';
export { certify, type CertifyOptions, CHECK_NAMES } from './certify';
export {
  type CalibrationDesign,
  calibrationDesign,
  type CalibrationThresholds,
  nextRollouts,
  verdictDoubt,
} from './stopping-rule';
export { readTargetProfile, type TargetProfile } from './target-profile';
