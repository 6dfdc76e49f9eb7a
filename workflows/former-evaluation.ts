import { CancellationScope, patched } from '@temporalio/workflow';
import type { ArmRollouts } from '../contracts/messages/evaluate-stage';
import type { IdentifyResult } from '../contracts/messages/identify-stage';
import type { SharpenResult } from '../contracts/messages/sharpen-stage';
import type { TrainedAdapter } from '../contracts/artifacts/training';
import { jobs, orchestration, sandbox } from './activities';
import { allOf } from './all-of';
import { type EvaluationOutcome, type EvaluationStage, reasonOf, rollOut } from './evaluation-stage';
import { applicationFailureOf } from './failure-causes';

/** The mixed adapter with its rollouts, or why it was left out. */
type MixedArm =
  { mixed: TrainedAdapter; arm: ArmRollouts; failure: null } | { mixed: null; arm: null; failure: string };

/**
 * The evaluation of runs from before the active version was an arm; they replay and end as they began. Rolls out the
 * base model, each adapter, the routed system and, where the plan asks for it, the mixed adapter, and compares them.
 * All get the same held-out tasks and sampling seeds, so that they can be compared in pairs. A failure makes the run
 * wait. The mixed arm is left out when anything fails in it or a person skips it, and the comparison says why: it is a
 * rival, not what the run is for.
 */
export async function formerEvaluation(
  stage: EvaluationStage,
  identified: IdentifyResult,
  sharpened: SharpenResult[],
): Promise<EvaluationOutcome> {
  const { plan, gates } = stage;
  const trained = sharpened.flatMap((s) => (s.adapter === null ? [] : [{ ...s, adapter: s.adapter }]));
  const adapters = trained.map((s) => s.adapter);
  const capabilities = trained.map((s) => s.capability);
  // The context is read for each step: `whet retry RUN --spec` changes it.
  const perform = <T>(step: () => Promise<T>) => gates.perform('evaluate', step);

  // The mixed adapter trains while the policy server works on the other arms.
  const mixedArm = plan.mixedAdapter && trained.length > 1 ? evaluateMixed(stage, sharpened) : Promise.resolve(null);
  const otherArms = (async () => {
    const router = patched('routers-compete')
      ? await perform(() =>
          sandbox.chooseRouter.executeWithOptions({ summary: 'routers compete on train tasks' }, [
            {
              context: plan.context,
              adapters,
              capabilities,
              trajectories: stage.trajectories,
              labels: identified.labels,
            },
          ]),
        )
      : null;
    const { routing } = await perform(() =>
      sandbox.routeTasks.executeWithOptions({ summary: 'route held-out tasks' }, [
        { context: plan.context, capabilities, ...(router && { router: router.router }) },
      ]),
    );
    const arms = [await perform(() => rollOut(stage, 'base', 'base', []))];
    for (const adapter of adapters) arms.push(await perform(() => rollOut(stage, adapter.name, 'adapter', [adapter])));
    arms.push(await perform(() => rollOut(stage, 'routed', 'routed', adapters, { routing })));
    return { arms, routing, router };
  })();
  await allOf<unknown>([mixedArm, otherArms]);
  const [withMixed, { arms, routing, router }] = [await mixedArm, await otherArms];
  const all = withMixed?.arm ? [...arms, withMixed.arm] : arms;
  const mixedFailure = withMixed?.failure ?? null;
  const comparison = await perform(() =>
    orchestration.compareArms.executeWithOptions({ summary: `compare ${all.length} arms` }, [
      {
        context: plan.context,
        arms: all,
        capabilities,
        adapters,
        routing,
        ...(router && { routerChoice: router.choice }),
        identification: identified.identification,
        ...(mixedFailure !== null && { mixedFailure }),
      },
    ]),
  );
  return {
    arms: all,
    routing,
    router: router?.router ?? null,
    mixed: withMixed?.mixed ?? null,
    comparison,
    judgeAgain: null,
  };
}

/**
 * Trains one adapter in all environments, with as many rollouts as the other adapters together (paper, table 3), and
 * rolls it out. Throws only when the run is cancelled.
 */
async function evaluateMixed(stage: EvaluationStage, sharpened: SharpenResult[]): Promise<MixedArm> {
  const { plan, skippable } = stage;
  const environments = sharpened.flatMap((s) =>
    s.adapter === null || s.environment === null ? [] : [{ id: s.capability.id, source: s.environment }],
  );
  const run = CancellationScope.current();
  const arm = new CancellationScope();
  skippable.set('mixed', () => arm.cancel());
  try {
    return await arm.run(async () => {
      const mixed = await jobs.trainAdapter.executeWithOptions({ summary: 'train mixed: all environments' }, [
        { context: plan.context, job: 'mixed', environments, budgetFactor: environments.length },
      ]);
      return { mixed, arm: await rollOut(stage, 'mixed', 'mixed', [mixed]), failure: null };
    });
  } catch (error) {
    if (run.consideredCancelled) throw error;
    const failure = applicationFailureOf(error);
    // Runs that ended with this failure, before the arm could be left out, replay as they ended.
    const patch = failure?.type?.startsWith('Trainer.') ? 'mixed-adapter-left-out' : 'mixed-arm-left-out';
    if (!patched(patch)) throw error;
    return { mixed: null, arm: null, failure: reasonOf(error, arm.consideredCancelled) };
  } finally {
    skippable.delete('mixed');
  }
}
