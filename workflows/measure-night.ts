import { executeChild, patched } from '@temporalio/workflow';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { ArmRollouts, IncumbentVersion } from '../contracts/messages/evaluate-stage';
import type { IdentifyResult } from '../contracts/messages/identify-stage';
import type { NightDecisionResult, NightPlanResult } from '../contracts/messages/night-stage';
import type { RunPlan } from '../contracts/messages/run';
import type { SharpenResult } from '../contracts/messages/sharpen-stage';
import { childWorkflowId, WORKFLOWS } from '../contracts/names';
import { orchestration, sandbox } from './activities';
import type { identifyCapabilities } from './identify-capabilities';
import type { RunGates } from './run-gates';
import type { RunProgressTable } from './run-progress-table';

/** What measuring needs of its run. */
export interface MeasuringRun {
  table: RunProgressTable;
  gates: RunGates;
  /** Id of the identification that runs: answers of people go to it. */
  identification: string;
}

/** What a night measured, and decided from it. */
export interface MeasuredNight {
  base: ArmRollouts;
  served: ArmRollouts;
  identified: IdentifyResult;
  decision: NightDecisionResult;
}

/** What is served, and on which tasks it is measured. */
type Measured = NonNullable<NightPlanResult['measure']>;

/** What the run begins with: a night that measures, or a first night. */
export async function planNight({ table }: MeasuringRun, { context }: RunPlan): Promise<NightPlanResult> {
  const planned = await orchestration.planNight.executeWithOptions(
    { summary: 'measure what is served, or begin anew' },
    [context],
  );
  table.update({ key: 'night', text: planned.summary, waitingFor: null });
  return planned;
}

/**
 * Measures the active version beside base on the night's train tasks, identifies what it lacks as it serves, and
 * decides whether the run goes on. Null when a person leaves the measuring out: the run then goes on as a first night.
 */
export async function measureNight(
  run: MeasuringRun,
  plan: RunPlan,
  nightPlan: ArtifactRef,
  measured: Measured,
): Promise<MeasuredNight | null> {
  const { table, gates } = run;
  const arms = await table.run(
    'collect',
    () => gates.performUnlessSkipped('incumbent', () => playArms(plan, measured)),
    (played) => (played === null ? 'measuring skipped by a person' : describeArms(played, measured)),
  );
  if (arms === null) return null;
  return table.run(
    'identify',
    async () => {
      run.identification = childWorkflowId.identifyServed(plan.context.runId);
      const identified = await gates.perform('identify', () => identifyServed(plan, arms.served));
      const decision = await gates.perform('identify', () =>
        orchestration.decideNight.executeWithOptions({ summary: 'is there anything to pay for' }, [
          { context: plan.context, plan: nightPlan, version: measured.version, ...arms, identified },
        ]),
      );
      run.identification = childWorkflowId.identify(plan.context.runId);
      return { ...arms, identified, decision };
    },
    ({ decision }) => decision.sentence,
  );
}

async function playArms(
  { context }: RunPlan,
  { version: { version, runId, adapters, capabilities, router }, seeds: train, night }: Measured,
): Promise<Pick<MeasuredNight, 'base' | 'served'> & { routing: ArtifactRef }> {
  const again = night === undefined ? {} : { night };
  const base = await sandbox.rollOutArm.executeWithOptions({ summary: "base on the night's train tasks" }, [
    { context, arm: 'night-base', kind: 'base', adapters: [], routing: null, train, ...again },
  ]);
  const { routing } = await sandbox.routeTasks.executeWithOptions(
    { summary: `route the night's train tasks as version ${version} does` },
    [{ context, capabilities, router, name: 'night-routing', train }],
  );
  const served = await sandbox.rollOutArm.executeWithOptions(
    { summary: `version ${version} on the night's train tasks` },
    [
      {
        ...{ context, arm: 'night-served', kind: 'incumbent', adapters, routing, router, train, ...again },
        incumbent: { version, runId },
      },
    ],
  );
  return { base, served, routing };
}

function identifyServed({ context }: RunPlan, { rollouts }: ArmRollouts): Promise<IdentifyResult> {
  return executeChild<typeof identifyCapabilities>(WORKFLOWS.identifyCapabilities, {
    workflowId: childWorkflowId.identifyServed(context.runId),
    priority: { fairnessKey: context.agent },
    staticSummary: `identify what the active version lacks: ${rollouts.failures} failures`,
    args: [{ context, collected: rollouts, measures: true }],
  });
}

const describeArms = ({ base, served }: Pick<MeasuredNight, 'base' | 'served'>, { version }: Measured): string =>
  `version ${version.version} passes ${served.rollouts.successes} of ${served.rollouts.episodes} train tasks, ` +
  `base ${base.rollouts.successes}`;

/** What a measured night hands to the report. */
export const nightFacts = ({ decision, base, served }: MeasuredNight) => ({
  decision: decision.decision,
  base,
  served,
});

/** Under what the members of the active version wait, when they cannot be kept. */
const KEPT_MEMBERS = 'kept-members';

/** Members of the active version that this run had no reason to touch. None when they are left out. */
export async function keepMembers(
  { gates }: MeasuringRun,
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
  // In earlier versions it waited as the stage, which cannot be left out.
  if (!patched('kept-members-may-be-left-out')) return gates.perform('sharpen', keep);
  return (await gates.performUnlessSkipped(KEPT_MEMBERS, keep)) ?? [];
}
