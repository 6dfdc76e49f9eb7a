import type { SandboxActivities } from '../../contracts/messages/activities';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { createValidateEnvironment } from './validate-environment';

/** Activities of the validate stage: whether a synthesised environment passes every check that needs no model. */
export function createValidationActivities(deps: RolloutDeps): Pick<SandboxActivities, 'validateEnvironment'> {
  return { validateEnvironment: createValidateEnvironment(deps) };
}
