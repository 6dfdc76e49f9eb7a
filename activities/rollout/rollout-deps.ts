import type { LaunchProgram } from '../../sandbox';
import type { ArtifactStore } from '../../store';
import type { OpenEnvironment } from '../environment';
import type { KnownEndpoints } from '../endpoints/resolve-endpoints';
import type { ModelClient } from './model-client';

/** The dependencies of every activity that runs rollouts. */
export interface RolloutDeps {
  store: ArtifactStore;
  openEnvironment: OpenEnvironment;
  /** Starts the commands of an environment that is a program. Default: `launchProgram` of `sandbox/`. */
  launchProgram?: LaunchProgram;
  /** Milliseconds after which an episode counts as slow. Default: five minutes. */
  slowEpisodeMs?: number;
  model: ModelClient;
  /** The current address of the policy server, for runs whose agent.yaml names no address. */
  endpoints: Pick<KnownEndpoints, 'modelUrl'>;
}
