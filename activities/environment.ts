import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { PreparedSpec } from '../contracts/artifacts/prepared-spec';
import { type EnvironmentFacts, MODULE_FACTS } from '../contracts/config/environment-kinds/facts';
import { failure } from '../contracts/typed-failure';
import {
  type EnvironmentHandle,
  type EnvironmentSource,
  type ModuleSource,
  SandboxError,
  SandboxUnavailable,
} from '../sandbox';
import { AgentSpecError } from '../loaders/agent-spec';
import { UnreadableFileError } from '../loaders/read-bounded';
import type { ArtifactStore } from '../store';
import type { Payer } from './budget/environment-meter';
import { NamedFilesError } from '../loaders/named-files';
import { environmentOfRun, type OwnerEnvironment } from '../loaders/owner-environment';

export type { EnvironmentHandle, EnvironmentSource };

/** A class in the jail asks no model. */
type CommandSource = Exclude<EnvironmentSource, ModuleSource>;

/**
 * An environment, with the run that pays for its simulated users and judges. Null: no run does, or the caller counts
 * what it plays.
 */
export type PaidSource = ModuleSource | (CommandSource & { payer: Payer | null });

/** The environment, paid for by a run, or by none. */
export const paidBy = (environment: EnvironmentSource, payer: Payer | null): PaidSource =>
  'launch' in environment ? { ...environment, payer } : environment;

/** Who pays for an environment; null: nobody does. */
export const payerOf = (environment: PaidSource): Payer | null => ('payer' in environment ? environment.payer : null);

/** What code may rely on in a running environment. */
export function factsOf({ facts, hello }: Pick<EnvironmentHandle, 'facts' | 'hello'>): EnvironmentFacts {
  if (hello === undefined) return facts ?? MODULE_FACTS;
  return { ...hello.facts, playable: true, trainable: false, steppable: true, packages: hello.packages };
}

/** Starts an environment's process, and counts what its episodes spend; normally that of `environmentOpener`. */
export type OpenEnvironment = (environment: PaidSource) => Promise<EnvironmentHandle>;

/**
 * Reads the agent's own environment.
 * @throws Environment.Failed if its files cannot be read or have changed since the run began: results of two versions
 *   must not be mixed.
 */
export async function readOwnerEnvironment(prepared: PreparedSpec): Promise<EnvironmentSource> {
  const { environmentPath, environmentSha256, facts } = prepared;
  const read = readable(environmentPath, () => environmentOfRun(prepared));
  if (read.sha256(facts.packages) !== environmentSha256) {
    throw failure('Environment.Failed', `Changed since this run began: ${read.decidedBy}.`, { nonRetryable: true });
  }
  return 'launch' in read.source && facts.packages !== undefined && read.source.plays === 'process'
    ? { ...read.source, packages: facts.packages }
    : read.source;
}

/**
 * The agent's own environment.
 * @param read reads it.
 * @throws Environment.Failed, not retried, if its files cannot be read.
 */
export function readable(environmentPath: string, read: () => OwnerEnvironment): OwnerEnvironment {
  try {
    return read();
  } catch (error) {
    const isOfFiles = [UnreadableFileError, AgentSpecError, NamedFilesError].some((one) => error instanceof one);
    if (!isOfFiles) throw error;
    const why = error instanceof UnreadableFileError ? error.sentence : (error as Error).message;
    throw failure('Environment.Failed', `The environment ${environmentPath}: ${why}`, { nonRetryable: true });
  }
}

/** After this many attempts of an activity, about three minutes, a fault in a task waits for the agent's owner. */
const TASK_ATTEMPTS = 10;

/**
 * The failure that Temporal gets for a fault of the agent's own environment. Temporal retries unless `nonRetryable` is
 * set. `task` names the task that was played.
 */
export function ownerFailure(error: SandboxError, options: { nonRetryable?: boolean; task?: string } = {}): Error {
  const { task, ...retry } = options;
  const message = task === undefined ? error.message : `While ${task} was played: ${error.message}`;
  if (error.type === 'Sandbox.EnvironmentKilled')
    return failure('Environment.Killed', `${message} It says nothing about the environment.`, {
      cause: error,
      ...retry,
    });
  return failure('Environment.Failed', `${message}\nThis is the agent's own environment.`, { cause: error, ...retry });
}

/**
 * The failure for a fault of the agent's own environment in a task that a run plays. It is retried for some minutes,
 * because a network service that the environment uses may come back. Then the run waits for the owner.
 * @param attempt number of the activity's attempt, from 1.
 */
export const ownerTaskFailure = (error: SandboxError, task: string, attempt: number): Error =>
  ownerFailure(error, { task, nonRetryable: error.type !== 'Sandbox.EnvironmentKilled' && attempt >= TASK_ATTEMPTS });

/**
 * The failure if opening the owner's environment fails because of its source, such as an import that does not exist.
 * Opening it again would fail again, so this is not retried. Null for every other error.
 */
export function sourceFault(error: unknown, { trust }: Pick<EnvironmentSource, 'trust'>): Error | null {
  const isFault = error instanceof SandboxError && !error.retryable && !(error instanceof SandboxUnavailable);
  return trust === 'owner' && isFault ? ownerFailure(error, { nonRetryable: true }) : null;
}

/**
 * Starts the process of the agent's own environment.
 * @throws Environment.Failed, retried unless the fault is in its source; other errors unchanged.
 */
export async function openOwnerEnvironment(open: OpenEnvironment, environment: PaidSource): Promise<EnvironmentHandle> {
  try {
    return await open(environment);
  } catch (error) {
    throw sourceFault(error, environment) ?? (error instanceof SandboxError ? ownerFailure(error) : error);
  }
}

/** Reads a synthesised environment from the store; `name` is used in messages. Throws StoreCorruptError. */
export async function readSynthesisedEnvironment(
  store: ArtifactStore,
  ref: ArtifactRef,
  name: string,
): Promise<ModuleSource> {
  return { source: (await store.get(ref)).toString('utf8'), trust: 'synthesised', name };
}
