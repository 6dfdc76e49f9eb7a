/**
 * What each thing that a night may reuse depends on. The key is the hash of it: where anything here differs, it is made
 * anew. Nothing else decides on reuse (docs/adr/0017). A change of what is computed from the same inputs takes a new
 * number in `VERSIONS`.
 */
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { TrainingJob } from '../../contracts/artifacts/training';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { contentKey } from '../../llm';

/** Kinds of what can be reused, with the number of what is computed. */
const VERSIONS = { environment: 3, calibration: 3, adapter: 1 } as const;
/** One of them; also the folder of its records. */
type ReusableKind = keyof typeof VERSIONS;

/** A key, and what it was made from. */
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
 * A certified environment does not depend on the model: it is only calibrated for one. What else an agent's tasks are
 * like, its system message among them, may change each night: whether the environment is still like them is for its
 * validation to say, which compares it with today's rollouts.
 */
export function environmentKey({ capability, tools }: EnvironmentInputs): ReuseKey {
  const { id, name, summary, description } = capability;
  return keyOf('environment', {
    capability: { id, name, summary, description },
    tools: [...tools].sort((a, b) => (a.function.name < b.function.name ? -1 : 1)),
  });
}

/** A calibration says how this base model does in this environment, sampled in this way. */
export function calibrationKey(prepared: PreparedSpec, sourceSha256: string, runSeed: number): ReuseKey {
  const { calibration, environment, training, model } = prepared.spec;
  return keyOf('calibration', {
    environment: sourceSha256,
    baseModel: prepared.baseModelSha256,
    model: model.name,
    // What is too long for the server fails.
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
 * An adapter depends on what its trainer computes with: not on where it runs, how often it saves, or how many threads
 * it has.
 * @param continues sha256 of the adapter from which a training goes on, on content that was trained before.
 */
export function adapterKey(
  job: TrainingJob,
  baseModelSha256: string,
  trainer: { version: string; image: string | null },
  continues?: string,
): ReuseKey {
  const { seed, environments, taskSeedStart, isolation, algorithm, sampler, maxModelLength } = job;
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
    trainer: trainer.version,
    image: trainer.image,
    ...(continues !== undefined && { continues }),
  });
}

/** Whether a record is of a training that went on, however often, on the content of this key. */
export function goesOnWith(key: ReuseKey, dependsOn: unknown): boolean {
  if (typeof dependsOn !== 'object' || dependsOn === null || !('continues' in dependsOn)) return false;
  const { continues: _, ...content } = dependsOn;
  return JSON.stringify(content) === JSON.stringify(key.dependsOn);
}

/**
 * With which parsers the model's server reads tool calls and reasoning, as far as agent.yaml names them: with another
 * one the same answer is another call, or none.
 */
export function serverParsers({ vllm }: PreparedSpec['spec']['model']): {
  toolCallParser: string | null;
  reasoningParser: string | null;
} {
  return { toolCallParser: vllm?.toolCallParser ?? null, reasoningParser: vllm?.reasoningParser ?? null };
}

/** The image that a training runs in; null: the trainer is a process of the worker's own installation. */
export const trainerImage = ({ backend, kubernetes }: PreparedSpec['spec']['training']): string | null =>
  backend === 'kubernetes' ? (kubernetes?.image ?? null) : null;

const keyOf = (kind: ReusableKind, dependsOn: unknown): ReuseKey => ({
  kind,
  sha256: contentKey('reuse', kind, String(VERSIONS[kind]), JSON.stringify(dependsOn)),
  dependsOn,
});
