import type { ArtifactStore } from '../../store';
import type { OpenEnvironment } from '../environment';
import type { KnownEndpoints } from '../endpoints/resolve-endpoints';
import type { ModelClient } from './model-client';

/** The dependencies of every activity that runs rollouts. */
export interface RolloutDeps {
  store: ArtifactStore;
  openEnvironment: OpenEnvironment;
  model: ModelClient;
  /** The current address of the policy server, for runs whose agent.yaml names no address. */
  endpoints: Pick<KnownEndpoints, 'modelUrl'>;
}
