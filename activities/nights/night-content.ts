import { createHash } from 'node:crypto';
import type { NightPlan } from '../../contracts/artifacts/night';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { canonicalJson } from '../../contracts/artifacts/trajectory-id';
import { serverParsers, trainerImage } from '../reuse/content-keys';
import { isDemoAnalyst } from '../endpoints/probe-analyst';

/** The inputs of a night's result. If any of them changes, reasons that earlier nights have worked on count again. */
export function nightContent(prepared: PreparedSpec): NightPlan['content'] {
  return {
    environment: prepared.environmentSha256,
    baseModel: prepared.baseModelSha256,
    // The order of the fields in agent.yaml has no meaning.
    options: createHash('sha256')
      .update(canonicalJson(optionsOf(prepared)))
      .digest('hex'),
  };
}

/** Options that say where a trainer runs and how often it reports. They do not change a result. */
const OPERATION: readonly (keyof PreparedSpec['spec']['training'])[] = [
  'backend',
  'kubernetes',
  'threads',
  'checkpointEvery',
  'reportTo',
  'samplerUrl',
  'packing',
  'packingWaitSeconds',
];

/** The owner's settings that change a result. Places, addresses and speeds do not change it. */
function optionsOf({ spec, analyst, sandbox, servedModel }: PreparedSpec): Record<string, unknown> {
  const { environment, collect, identify, synthesis, certificate, calibration, training, evaluation, gate } = spec;
  const { temperature, maxCompletionTokens } = spec.model;
  const { maxTurns, successReward, trainSeeds, heldOutSeeds } = environment;
  const { minGain, maxRegression, maxSureLoss, lossMargin } = gate;
  return {
    environment: { maxTurns, successReward, trainSeeds, heldOutSeeds },
    collect: without(collect, ['concurrency']),
    identify: without(identify, ['chunkCalls']),
    synthesis,
    certificate,
    calibration,
    model: { temperature, maxCompletionTokens, ...serverParsers(spec.model) },
    training: { ...without(training, OPERATION), image: trainerImage(training) },
    evaluation: without(evaluation, ['concurrency']),
    gate: { minGain, maxRegression, maxSureLoss, lossMargin },
    seed: spec.seed,
    contextLength: servedModel.maxModelLength,
    isolation: sandbox.mode,
    analyst: {
      model: analyst.model,
      endpoint: isDemoAnalyst(analyst.displayName) ? analyst.displayName : 'of an owner',
      maxPromptTokens: spec.analyst.maxPromptTokens,
    },
  };
}

function without<T extends object>(options: T, names: readonly (keyof T)[]): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([name]) => !names.includes(name as keyof T))) as Partial<T>;
}
