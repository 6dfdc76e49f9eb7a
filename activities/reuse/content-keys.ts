/**
 * The inputs of each result that a night may reuse. Its key is their hash: if any input differs, the result is made
 * again. Nothing else decides on reuse (docs/adr/0017). If the code computes another result from the same inputs, the
 * number in `VERSIONS` must change.
 */
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { TrainingJob } from '../../contracts/artifacts/training';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { contentKey } from '../../llm';

/** Kinds of reusable results, each with the version number of its code. */
const VERSIONS = { environment: 3, calibration: 3, reading: 1, adapter: 2, decline: 2, doNothing: 1 } as const;
/** One of these kinds, which is also the folder of its records. */
type ReusableKind = keyof typeof VERSIONS;

/** A key and its inputs. */
export interface ReuseKey {
  kind: ReusableKind;
  sha256: string;
  dependsOn: unknown;
}

/** The wording of a capability, and the tools of its agent. */
export interface EnvironmentInputs {
  capability: { id: string; name: string; summary: string; description: string };
  tools: readonly EnvironmentTool[];
}

/**
 * A certified environment does not depend on the model: it is only calibrated for one. Other properties of the agent's
 * tasks, such as its system message, may change each night. The validation compares the environment with today's
 * rollouts, and decides whether it still resembles the tasks.
 */
export function environmentKey({ capability, tools }: EnvironmentInputs): ReuseKey {
  const { id, name, summary, description } = capability;
  return keyOf('environment', {
    capability: { id, name, summary, description },
    tools: [...tools].sort((a, b) => (a.function.name < b.function.name ? -1 : 1)),
  });
}

/**
 * That the analyst declines depends on all that it was shown of the agent: the capability, the tools, the agent's own
 * environment, the base model that played in it, and the evidence in the question.
 * @param asked name of the analyst's model, version of the prompt, and sha256 of the first attempt's messages.
 */
export function declineKey(
  { capability, tools }: EnvironmentInputs,
  { environmentSha256, baseModelSha256 }: Pick<PreparedSpec, 'environmentSha256' | 'baseModelSha256'>,
  asked: { model: string; prompt: string; messagesSha256: string },
): ReuseKey {
  const dependsOn = environmentKey({ capability, tools }).dependsOn as object;
  return keyOf('decline', { ...dependsOn, environment: environmentSha256, baseModel: baseModelSha256, ...asked });
}

/** What an agent that does nothing earns depends on the environment and the tasks, and on no model. */
export const doNothingKey = (
  { environmentSha256, sandbox, spec }: PreparedSpec,
  played: { seeds: readonly number[]; maxTurns: number },
): ReuseKey =>
  keyOf('doNothing', {
    environment: environmentSha256,
    successReward: spec.environment.successReward,
    isolation: sandbox.mode,
    ...played,
  });

/** A calibration depends on the environment, the base model, and the sampling settings. */
export function calibrationKey(prepared: PreparedSpec, sourceSha256: string, runSeed: number): ReuseKey {
  const { calibration, environment, training, model } = prepared.spec;
  return keyOf('calibration', {
    environment: sourceSha256,
    baseModel: prepared.baseModelSha256,
    model: model.name,
    // A request that is too long for the server fails.
    contextLength: prepared.servedModel.maxModelLength,
    calibration,
    temperature: training.temperature,
    maxCompletionTokens: training.maxCompletionTokens,
    maxTurns: environment.maxTurns,
    successReward: environment.successReward,
    seed: runSeed,
    isolation: prepared.sandbox.mode,
    ...serverParsers(model),
  });
}

/**
 * What the second reader says of an environment depends on the rollouts, the wording of the capability, and the
 * question. The target's episodes that are read among them, and the noise of its labels, may be those of an earlier
 * night.
 * @param questions version of the prompt.
 */
export function readingKey(
  toReadSha256: string,
  { id, name, description }: Pick<EnvironmentInputs['capability'], 'id' | 'name' | 'description'>,
  settings: PreparedSpec['spec']['certificate']['secondReader'],
  { model, questions }: { model: string; questions: string },
): ReuseKey {
  return keyOf('reading', {
    toRead: toReadSha256,
    capability: { id, name, description },
    settings,
    model,
    questions,
  });
}

/**
 * An adapter depends on the inputs of its trainer's computation. It does not depend on where the trainer runs, how
 * often it saves, or how many threads it has.
 * @param continues sha256 of the adapter that a training continues, although its inputs were trained before.
 */
export function adapterKey(
  job: TrainingJob,
  baseModelSha256: string,
  trainer: { version: string; image: string | null },
  continues?: string,
): ReuseKey {
  const { seed, environments, taskSeedStart, isolation, algorithm, sampler, maxModelLength, watch } = job;
  const { reportTo: _, ...options } = algorithm;
  return keyOf('adapter', {
    baseModel: baseModelSha256,
    environments: environments.map(({ id, sha256 }) => ({ id, sha256 })),
    seed,
    taskSeedStart,
    isolation,
    options,
    sampler,
    maxModelLength: maxModelLength ?? null,
    // Which tasks a probe plays is chance, like the tasks that a run collects.
    watched: watch !== undefined,
    trainer: trainer.version,
    image: trainer.image,
    ...(continues !== undefined && { continues }),
  });
}

/** Whether a record is of a training that continued an adapter with the inputs of this key. */
export function goesOnWith(key: ReuseKey, dependsOn: unknown): boolean {
  if (typeof dependsOn !== 'object' || dependsOn === null || !('continues' in dependsOn)) return false;
  const { continues: _, ...content } = dependsOn;
  return JSON.stringify(content) === JSON.stringify(key.dependsOn);
}

/**
 * The parsers with which the model's server reads tool calls and reasoning, if agent.yaml names them. Another parser
 * may read another call in the same answer, or none.
 */
export function serverParsers({ vllm }: PreparedSpec['spec']['model']): {
  toolCallParser: string | null;
  reasoningParser: string | null;
} {
  return { toolCallParser: vllm?.toolCallParser ?? null, reasoningParser: vllm?.reasoningParser ?? null };
}

/** The image of a training; null: the trainer is a process of the worker's own installation. */
export const trainerImage = ({ backend, kubernetes }: PreparedSpec['spec']['training']): string | null =>
  backend === 'kubernetes' ? (kubernetes?.image ?? null) : null;

const keyOf = (kind: ReusableKind, dependsOn: unknown): ReuseKey => ({
  kind,
  sha256: contentKey('reuse', kind, String(VERSIONS[kind]), JSON.stringify(dependsOn)),
  dependsOn,
});
