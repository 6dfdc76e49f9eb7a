import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import { type PreparedSpec, preparedSpecSchema } from '../contracts/artifacts/prepared-spec';
import type { TrainedAdapter } from '../contracts/artifacts/training';
import { failure } from '../contracts/typed-failure';
import type { SandboxError } from '../sandbox';
import { type ArtifactStore, getJson } from '../store';
import type { EnvironmentSource } from './deps';
import type { ServedAdapter } from './rollout/policy-model';

/** The run's frozen spec. */
export function readPreparedSpec(store: ArtifactStore, ref: ArtifactRef): Promise<PreparedSpec> {
  return getJson(store, ref, preparedSpecSchema);
}

/**
 * The agent's own environment.
 * @throws Environment.Failed when its file is gone or is not the one the run began with: results of two environments
 *   must not be mixed.
 */
export async function readOwnerEnvironment({
  environmentPath,
  environmentSha256,
}: PreparedSpec): Promise<EnvironmentSource> {
  const source = await readFile(environmentPath, 'utf8').catch((error: unknown) => {
    throw failure(
      'Environment.Failed',
      `The environment ${environmentPath} cannot be read (${(error as Error).message}). Restore it, then start a new run.`,
      {
        nonRetryable: true,
      },
    );
  });
  if (createHash('sha256').update(source).digest('hex') !== environmentSha256) {
    throw failure(
      'Environment.Failed',
      `The environment ${environmentPath} was changed since this run began. Start a new run.`,
      { nonRetryable: true },
    );
  }
  return { source, trust: 'owner', name: environmentPath };
}

/**
 * A fault of the agent's own environment as the failure that Temporal gets to see; it is tried again unless
 * `nonRetryable` says otherwise.
 */
export function ownerFailure(error: SandboxError, options: { nonRetryable?: boolean } = {}): Error {
  return failure(
    'Environment.Failed',
    `${error.message}\nThis is the agent's own environment: correct it, then start a new run.`,
    {
      cause: error,
      ...options,
    },
  );
}

/** A synthesised environment of the store. */
export async function readSynthesisedEnvironment(
  store: ArtifactStore,
  ref: ArtifactRef,
  name: string,
): Promise<EnvironmentSource> {
  return { source: (await store.get(ref)).toString('utf8'), trust: 'synthesised', name };
}

/** Adapters as the policy server loads them. */
export function servedAdapters(store: ArtifactStore, adapters: readonly TrainedAdapter[]): ServedAdapter[] {
  return adapters.map(({ name, key }) => ({ name, path: store.localPath(key) }));
}
