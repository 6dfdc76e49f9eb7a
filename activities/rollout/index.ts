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
export { EnvironmentUnusable, MAX_PROCESS_FAULTS, rollOut, type RolledOut, type RollOutOptions } from './roll-out';
export { samplingSeed } from './sampling-seed';
export { summarise } from './summary';
