import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { SandboxActivities } from '../../contracts/messages/activities';
import { layout, putJson } from '../../store';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { readSynthesisedEnvironment } from '../environment';
import { isOutsideFault, killedFailure } from '../killed-environment';
import { readPreparedSpec } from '../prepared-spec';
import { Progress } from '../progress';
import { certificateOf } from '../environment-checks/certificate';
import { runChecks, CHECK_NAMES } from '../environment-checks/run-checks';
import { compareAttempts, withCheck } from './compare-attempts';
import { withPlayedOpenings } from './played-openings';
import { targetProfileReader } from '../target-profile/read-target-profile';

/**
 * The activity of the validate stage. It runs every check of a synthesised environment that needs no model, and
 * compares a later attempt with an earlier one. It writes validation.json and a certificate without calibration. The
 * environment runs in the jail. If it raises, hangs or dies, the check fails and the activity continues.
 * @throws Environment.Failed if the agent's own environment, which is used for comparison, fails; Environment.Killed;
 *   Sandbox.Unavailable.
 */
export function createValidationActivities(deps: RolloutDeps): Pick<SandboxActivities, 'validateEnvironment'> {
  const profileOf = targetProfileReader(deps);
  return {
    async validateEnvironment({ context: { runId, spec }, capability, source: sourceRef, before, trajectories }) {
      const { cancellationSignal: signal } = Context.current();
      const prepared = await readPreparedSpec(deps.store, spec);
      using progress = new Progress({
        stage: 'sharpen',
        unit: 'checks',
        total: CHECK_NAMES.length,
        note: `validate ${capability.id}`,
        everyMs: 500,
      });
      try {
        progress.setNote("reads the agent's own environment");
        const profile = await profileOf({ runId, spec }, prepared, signal);
        const isShort = prepared.facts.costsTokens && trajectories !== undefined;
        const target = isShort ? await withPlayedOpenings(deps.store, profile, trajectories, signal) : profile;
        progress.setNote(undefined);
        const environment = await readSynthesisedEnvironment(deps.store, sourceRef, capability.id);
        const { openEnvironment } = deps;
        const settings = prepared.spec.certificate;
        const checked = await runChecks({
          openEnvironment,
          environment,
          target,
          settings,
          signal,
          onCheck: () => progress.advance(),
        });
        const playable = checked.checks.every(({ group, passed }) => group !== 'form' || passed);
        const { hasReferences } = prepared.facts;
        const compared = { store: deps.store, openEnvironment, environment, before, hasReferences, signal };
        const kept = playable ? await compareAttempts(compared) : null;
        const validation = withCheck(checked, kept);
        const folder = layout.environments(runId, capability.id);
        const detail = await putJson(deps.store, folder, 'validation.json', validation);
        const facts = { capability: capability.id, source: sourceRef, isolation: prepared.sandbox.mode, settings };
        const certificate = await putJson(deps.store, folder, 'certificate.json', certificateOf(facts, validation));
        return { passed: validation.passed, problems: validation.problems, playable, detail, certificate };
      } catch (error) {
        if (isOutsideFault(error) && !(error instanceof ApplicationFailure))
          throw killedFailure(error as Error, Context.current().info.attempt);
        throw error;
      }
    },
  };
}
