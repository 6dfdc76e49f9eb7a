import { executeChild } from '@temporalio/workflow';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { ArmRollouts, IncumbentVersion } from '../../contracts/messages/evaluate-stage';
import type { IdentifyResult } from '../../contracts/messages/identify-stage';
import type { NightDecisionResult, NightPlanResult } from '../../contracts/messages/night-stage';
import type { RunPlan } from '../../contracts/messages/run';
import type { SharpenResult } from '../../contracts/messages/sharpen-stage';
import type { RolloutSummary } from '../../contracts/artifacts/trajectory';
import { failedCount, failedOfArms } from '../../contracts/failed-episodes';
import { childWorkflowId, WORKFLOWS } from '../../contracts/names';
import { orchestration, sandbox } from '../shared/activities';
import type { identifyCapabilities } from './identify-capabilities';
import type { Run } from '../waits/run';

/** The measurement of a night, and its decision. */
export interface MeasuredNight {
  base: ArmRollouts;
  served: ArmRollouts;
  /** The input of the identification: the served version's rollouts, with the live traffic that it answered. */
  learned: RolloutSummary;
  identified: IdentifyResult;
  decision: NightDecisionResult;
}

/** The served version, and the tasks on which it is measured. */
type Measured = NonNullable<NightPlanResult['measure']>;

/** How the run begins: as a night that measures, or as a first night. */
export async function planNight({ table, notices }: Run, { context }: RunPlan): Promise<NightPlanResult> {
  const planned = await orchestration.planNight.executeWithOptions(
    { summary: 'measure what is served, or begin anew' },
    [context],
  );
  table.update({ key: 'night', text: planned.summary, waitingFor: null });
  if (planned.remaking === undefined) return planned;
  table.update({ key: 'expected cost', text: planned.remaking, waitingFor: null });
  notices.send({ kind: 'costs', reasons: [planned.remaking] });
  return planned;
}

/**
 * Measures the active version and base on the night's train tasks. Then it identifies missing capabilities of the
 * version, and decides whether the run continues. Null if a person skips the measurement: the run then continues as a
 * first night.
 */
export async function measureNight(
  run: Run,
  plan: RunPlan,
  nightPlan: ArtifactRef,
  measured: Measured,
): Promise<MeasuredNight | null> {
  const { table, gates } = run;
  const collected = await table.run(
    'collect',
    async () => {
      const arms = await gates.performUnlessSkipped('incumbent', () => playArms(plan, measured));
      return arms && { ...arms, ...(await readTraffic(run, plan, measured, arms.served)) };
    },
    (played) => (played === null ? 'measuring skipped by a person' : describeArms(played, measured)),
  );
  if (collected === null) return null;
  const { learned, live, ...arms } = collected;
  return table.run(
    'identify',
    async () => {
      run.identification = childWorkflowId.identifyServed(plan.context.runId);
      const identified = await gates.perform('identify', () => identifyServed(plan, learned));
      const decision = await gates.perform('identify', () =>
        orchestration.decideNight.executeWithOptions({ summary: 'is there anything to pay for' }, [
          {
            context: plan.context,
            plan: nightPlan,
            version: measured.version,
            ...arms,
            identified,
            ...(live !== undefined && { live }),
          },
        ]),
      );
      run.identification = childWorkflowId.identify(plan.context.runId);
      return { ...arms, learned, identified, decision };
    },
    ({ decision }) => decision.sentence,
  );
}

async function playArms(
  { context }: RunPlan,
  { version: { version, runId, adapters, capabilities, router }, seeds: train, night }: Measured,
): Promise<Pick<MeasuredNight, 'base' | 'served'> & { routing: ArtifactRef }> {
  const base = await sandbox.rollOutArm.executeWithOptions({ summary: "base on the night's train tasks" }, [
    { context, arm: 'night-base', kind: 'base', adapters: [], routing: null, train, night },
  ]);
  const { routing } = await sandbox.routeTasks.executeWithOptions(
    { summary: `route the night's train tasks as version ${version} does` },
    [{ context, capabilities, router, name: 'night-routing', train }],
  );
  const served = await sandbox.rollOutArm.executeWithOptions(
    { summary: `version ${version} on the night's train tasks` },
    [
      {
        context,
        arm: 'night-served',
        kind: 'incumbent',
        adapters,
        routing,
        router,
        train,
        night,
        incumbent: { version, runId },
      },
    ],
  );
  return { base, served, routing };
}

/** Key under which the run waits when the live traffic cannot be read. */
const LIVE = 'live';

/**
 * The rollouts of the served version, with the live traffic that it answered. `live` is absent if live traffic was not
 * read.
 */
async function readTraffic(
  { gates }: Run,
  { context }: RunPlan,
  { version, live: most }: Measured,
  { rollouts: served }: ArmRollouts,
): Promise<{ learned: RolloutSummary; live?: number }> {
  if (most === undefined) return { learned: served };
  const learned = await gates.performUnlessSkipped(LIVE, () =>
    sandbox.readServedTraffic.executeWithOptions({ summary: `live traffic that version ${version.version} answered` }, [
      { context, version, served, most },
    ]),
  );
  return learned === null ? { learned: served } : { learned, live: learned.live ?? 0 };
}

function identifyServed({ context }: RunPlan, learned: RolloutSummary): Promise<IdentifyResult> {
  return executeChild<typeof identifyCapabilities>(WORKFLOWS.identifyCapabilities, {
    workflowId: childWorkflowId.identifyServed(context.runId),
    priority: { fairnessKey: context.agent },
    staticSummary: `identify what the active version lacks: ${learned.failures} failures`,
    args: [{ context, collected: learned, measures: true }],
  });
}

function describeArms(
  { base, served, learned, live }: Pick<MeasuredNight, 'base' | 'served' | 'learned'> & { live?: number },
  { version }: Measured,
): string {
  const traffic = live === undefined ? '' : `; ${live} conversations that it answered join them`;
  const { unreadable = 0 } = learned;
  const lost = unreadable > 0 ? `; ${unreadable} lines of live traffic could not be read` : '';
  const without = failedOfArms([
    ['base', base.rollouts.failed],
    [`version ${version.version}`, served.rollouts.failed],
  ]);
  const failed = without === '' ? '' : `; without a result ${without}`;
  const played = served.rollouts.episodes - failedCount(served.rollouts.failed);
  return (
    `version ${version.version} passes ${served.rollouts.successes} of ${played} train tasks, ` +
    `base ${base.rollouts.successes}${failed}${traffic}${lost}`
  );
}

/** The data that a measured night hands to the report. */
export const nightFacts = ({ decision, base, served, learned }: MeasuredNight) => ({
  decision: decision.decision,
  base,
  served,
  ...((learned.live ?? 0) > 0 && { learned }),
});

/** The run waits under this key when the adapters of the active version cannot be kept. */
const KEPT_MEMBERS = 'kept-members';

/** Adapters of the active version that this run had no reason to retrain. Empty if a person leaves them out. */
export async function keepMembers(
  { gates }: Run,
  { context }: RunPlan,
  version: IncumbentVersion,
  worked: readonly SharpenResult[],
  retires?: readonly string[],
): Promise<SharpenResult[]> {
  const sharpened = worked.flatMap(({ adapter, capability }) => (adapter === null ? [] : [capability.id]));
  const keep = () =>
    orchestration.keepMembers.executeWithOptions({ summary: `keep what version ${version.version} has` }, [
      { context, version, sharpened, ...(retires && { retires: [...retires] }) },
    ]);
  return (await gates.performUnlessSkipped(KEPT_MEMBERS, keep)) ?? [];
}
