import { Context } from '@temporalio/activity';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { EnvironmentInput, ValidationResult } from '../../contracts/messages/sharpen-stage';
import { SandboxError } from '../../sandbox';
import { layout, putJson } from '../../store';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { ownerFailure, readOwnerEnvironment, readSynthesisedEnvironment } from '../environment';
import { readPreparedSpec } from '../prepared-spec';
import { startProgress } from '../progress';
import { certificateOf } from '../environment-checks/certificate';
import { certify, CHECK_NAMES } from '../environment-checks/check-environment';
import { readTargetProfile, type TargetProfile } from '../environment-checks/target-profile';
import { TargetProfiles } from './target-profile-cache';

/**
 * `validateEnvironment`: everything about a synthesised environment that can be found out without a model, and the
 * certificate as far as it goes. It runs in the jail; what it does there, be it raise, hang or die, fails the check and
 * not the activity.
 * @throws Environment.Failed when the agent's own environment, which it is compared with, fails; Sandbox.Unavailable.
 */
export function createValidateEnvironment(deps: RolloutDeps): (input: EnvironmentInput) => Promise<ValidationResult> {
  const profiles = new TargetProfiles(deps.store);
  return async ({ context: { runId, spec }, capability, source: sourceRef }) => {
    const { heartbeat, cancellationSignal: signal } = Context.current();
    const prepared = await readPreparedSpec(deps.store, spec);
    const progress = startProgress({
      stage: 'sharpen',
      unit: 'checks',
      total: CHECK_NAMES.length,
      note: `validate ${capability.id}`,
      everyMs: 500,
      heartbeat,
    });
    try {
      progress.setNote("reads the agent's own environment");
      const target = await profiles.of(layout.targetProfile(runId, spec.sha256), signal, () =>
        profileOf(deps, prepared, signal),
      );
      progress.setNote(undefined);
      const environment = await readSynthesisedEnvironment(deps.store, sourceRef, capability.id);
      const { openEnvironment } = deps;
      const settings = prepared.spec.certificate;
      const validation = await certify({
        openEnvironment,
        environment,
        target,
        settings,
        signal,
        onCheck: () => progress.advance(),
      });
      const folder = layout.environments(runId, capability.id);
      const detail = await putJson(deps.store, folder, 'validation.json', validation);
      const facts = { capability: capability.id, source: sourceRef, isolation: prepared.sandbox.mode, settings };
      const certificate = await putJson(deps.store, folder, 'certificate.json', certificateOf(facts, validation));
      return { passed: validation.passed, problems: validation.problems, detail, certificate };
    } finally {
      progress.stop();
    }
  };
}

/** Attempts after which a fault that another process may not have is shown to a person. */
const ATTEMPTS = 3;

/**
 * Reads the profile off the agent's environment.
 * @throws Environment.Failed, for which a person is waited for as soon as another attempt would not help.
 */
async function profileOf(
  { openEnvironment }: RolloutDeps,
  prepared: PreparedSpec,
  signal: AbortSignal,
): Promise<TargetProfile> {
  const environment = await readOwnerEnvironment(prepared);
  try {
    return await readTargetProfile({ openEnvironment, environment, spec: prepared.spec.environment, signal });
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw ownerFailure(error, { nonRetryable: !error.retryable || Context.current().info.attempt >= ATTEMPTS });
  }
}
