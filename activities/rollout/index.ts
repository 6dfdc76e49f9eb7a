export { FEW_EPISODES, runDeployedRollouts, runScriptedRollouts } from './deployed-rollouts';
export type { EpisodePlan } from './episode';
export { HttpModelClient } from './model-client';
export { modelFailure, ModelFault } from './model-errors';
export { PolicyModel } from './policy-model';
export { environmentOpener } from './player';
export {
  EnvironmentUnusable,
  loadRollouts,
  MAX_PROCESS_FAULTS,
  runRollouts,
  type RolloutResults,
} from './run-rollouts';
export { samplingSeed } from './sampling-seed';
export { storeRollouts } from './store-rollouts';
export { doNothingModel, MOST_IDLE_TURNS, NEUTRAL_SENTENCE, scriptedModel } from './scripted-model';
