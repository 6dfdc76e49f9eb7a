import { Context } from '@temporalio/activity';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { RunContext } from '../../contracts/messages/run-context';
import { SandboxError } from '../../sandbox';
import { type ArtifactStore, layout } from '../../store';
import { type OpenEnvironment, ownerFailure, paidBy, type PaidSource, readOwnerEnvironment } from '../environment';
import { readTargetProfile, type TargetProfile } from '../environment-checks/target-profile';
import { TargetProfileCache } from './target-profile-cache';

/** After this many attempts, a fault that another process might not have waits for a person. */
const ATTEMPTS = 3;

/** Reads the profile of the agent's environment for an activity of a run. */
export type ReadTargetProfile = (
  run: Pick<RunContext, 'runId' | 'spec'>,
  prepared: PreparedSpec,
  signal: AbortSignal,
) => Promise<TargetProfile>;

/**
 * Makes a reader of target profiles. A profile is read from the environment once for each run.
 * @throws Environment.Failed; not retryable once another attempt would not help, so that the run waits for a person.
 */
export function targetProfileReader(deps: {
  store: ArtifactStore;
  openEnvironment: OpenEnvironment;
}): ReadTargetProfile {
  const profiles = new TargetProfileCache(deps.store);
  return ({ runId, spec }, prepared, signal) =>
    profiles.load(layout.targetProfile(runId, spec.sha256), signal, async () => {
      const payer = { store: deps.store, runId, budget: prepared.spec.budget, stage: 'sharpen' } as const;
      return profileOf(deps, prepared, paidBy(await readOwnerEnvironment(prepared), payer), signal);
    });
}

async function profileOf(
  { openEnvironment }: { openEnvironment: OpenEnvironment },
  prepared: PreparedSpec,
  environment: PaidSource,
  signal: AbortSignal,
): Promise<TargetProfile> {
  try {
    return await readTargetProfile({ openEnvironment, environment, spec: prepared.spec.environment, signal });
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw ownerFailure(error, { nonRetryable: !error.retryable || Context.current().info.attempt >= ATTEMPTS });
  }
}
