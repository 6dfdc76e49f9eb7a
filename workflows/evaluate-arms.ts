import { patched } from '@temporalio/workflow';
import type { EvaluationArmInput, ArmRollouts, CompareResult } from '../contracts/messages/evaluate-stage';
import type { IdentifyResult } from '../contracts/messages/identify-stage';
import type { RunPlan } from '../contracts/messages/run';
import type { SharpenResult } from '../contracts/messages/sharpen-stage';
import type { ArtifactRef } from '../contracts/artifacts/artifact-ref';
import type { TrainedAdapter } from '../contracts/artifacts/training';
import { jobs, orchestration, sandbox } from './activities';
import { applicationFailureOf } from './application-failure';

/** What the evaluation stage leaves. */
export interface EvaluationOutcome {
  arms: ArmRollouts[];
  routing: ArtifactRef;
  /** Null where the plan has no mixed adapter, fewer than two were trained, or its training failed. */
  mixed: TrainedAdapter | null;
  comparison: CompareResult;
}

/**
 * Rolls out the base model, each adapter, the routed system and, where the plan asks for it, the mixed adapter, and
 * compares them. All get the same held-out tasks and sampling seeds, so that they can be compared in pairs. A mixed
 * adapter whose training fails is left out, and the comparison says why: it is a rival, not what the run is for.
 */
export async function evaluateArms(
  plan: RunPlan,
  identified: IdentifyResult,
  sharpened: SharpenResult[],
): Promise<EvaluationOutcome> {
  const { context } = plan;
  const trained = sharpened.flatMap((s) => (s.adapter === null ? [] : [{ ...s, adapter: s.adapter }]));
  const adapters = trained.map((s) => s.adapter);
  const capabilities = trained.map((s) => s.capability);
  const rollOut = (
    arm: string,
    kind: EvaluationArmInput['kind'],
    used: TrainedAdapter[],
    routing: ArtifactRef | null = null,
  ): Promise<ArmRollouts> =>
    sandbox.rollOutArm.executeWithOptions({ summary: `held-out rollouts: ${arm}` }, [
      { context, arm, kind, adapters: used, routing },
    ]);

  // The mixed adapter trains while the policy server works on the other arms.
  const mixedArm =
    plan.mixedAdapter && trained.length > 1
      ? trainMixed(plan, sharpened).then(async ({ mixed, failure }) => ({
          mixed,
          failure,
          arm: mixed && (await rollOut('mixed', 'mixed', [mixed])),
        }))
      : Promise.resolve(null);
  const otherArms = (async () => {
    const { routing } = await sandbox.routeTasks.executeWithOptions({ summary: 'route held-out tasks' }, [
      { context, capabilities },
    ]);
    const arms = [await rollOut('base', 'base', [])];
    for (const adapter of adapters) arms.push(await rollOut(adapter.name, 'adapter', [adapter]));
    arms.push(await rollOut('routed', 'routed', adapters, routing));
    return { arms, routing };
  })();
  const [withMixed, { arms, routing }] = await Promise.all([mixedArm, otherArms]);
  const all = withMixed?.arm ? [...arms, withMixed.arm] : arms;
  const mixedFailure = withMixed?.failure ?? null;
  const comparison = await orchestration.compareArms.executeWithOptions({ summary: 'compare arms' }, [
    {
      context,
      arms: all,
      capabilities,
      adapters,
      routing,
      identification: identified.identification,
      ...(mixedFailure !== null && { mixedFailure }),
    },
  ]);
  return { arms: all, routing, mixed: withMixed?.mixed ?? null, comparison };
}

/**
 * Trains one adapter in all environments, with as many rollouts as the other adapters together (paper, table 3). A
 * failure of the trainer is part of the result; everything else is thrown.
 */
async function trainMixed(
  { context }: RunPlan,
  sharpened: SharpenResult[],
): Promise<{ mixed: TrainedAdapter; failure: null } | { mixed: null; failure: string }> {
  const environments = sharpened.flatMap((s) =>
    s.adapter === null || s.environment === null ? [] : [{ id: s.capability.id, source: s.environment }],
  );
  try {
    const mixed = await jobs.trainAdapter.executeWithOptions({ summary: 'GRPO adapter: all environments mixed' }, [
      { context, job: 'mixed', environments, budgetFactor: environments.length },
    ]);
    return { mixed, failure: null };
  } catch (error) {
    const failure = applicationFailureOf(error);
    // Runs that ended with this failure, before the arm could be left out, replay as they ended.
    if (!failure?.type?.startsWith('Trainer.') || !patched('mixed-adapter-left-out')) throw error;
    return { mixed: null, failure: `${failure.type}: ${firstAndLastLine(failure.message)}` };
  }
}

/** What happened and where the log is stand first in a trainer's failure, the trainer's own message last. */
function firstAndLastLine(message: string): string {
  const lines = message.trim().split('\n');
  return lines.length === 1 ? message.trim() : `${lines[0]} … ${lines.at(-1)}`;
}
