export { deployedSettings, type EpisodePlan, type EpisodeSettings } from './episode';
export {
  HttpModelClient,
  type ChatAnswer,
  type ChatRequest,
  type ModelClient,
  type ModelClientOptions,
} from './model-client';
export { modelFailure, ModelFault } from './model-errors';
export { PolicyModel, type ServedAdapter } from './policy-model';
export {
  EnvironmentUnusable,
  MAX_PROCESS_FAULTS,
  runRollouts,
  type RolloutResults,
  type RolloutOptions,
} from './run-rollouts';
export { samplingSeed } from './sampling-seed';
export { storeRollouts } from './store-rollouts';
