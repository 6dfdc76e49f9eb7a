import type { ArtifactStore } from '../store';
import type { EnvironmentProcess, OpenEnvironmentOptions } from '../sandbox';
import type { Clock } from './clock';
import type { ModelClient } from './rollout/model-client';

/** A running environment, as far as activities use it. */
export type EnvironmentHandle = Pick<
  EnvironmentProcess,
  | 'alive'
  | 'isolation'
  | 'sha256'
  | 'describe'
  | 'reset'
  | 'step'
  | 'say'
  | 'evaluate'
  | 'drop'
  | 'task'
  | 'reference'
  | 'score'
  | 'close'
>;

/** What to open. */
export type EnvironmentSource = Pick<OpenEnvironmentOptions, 'source' | 'trust' | 'name'>;

/** Starts an environment's process; normally `openEnvironment` of `sandbox/`. */
export type OpenEnvironment = (environment: EnvironmentSource) => Promise<EnvironmentHandle>;

/** What every activity that rolls out needs. */
export interface RolloutDeps {
  store: ArtifactStore;
  openEnvironment: OpenEnvironment;
  model: ModelClient;
  clock: Clock;
}
