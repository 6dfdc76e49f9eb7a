import { CancellationScope } from '@temporalio/workflow';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import type { TrainedAdapter } from '../../contracts/artifacts/training';
import type { ArmRollouts, CompareInput, HeldOut, PlanEvaluationResult } from '../../contracts/messages/evaluate-stage';
import type { IdentifyResult } from '../../contracts/messages/identify-stage';
import type { CapabilityBrief } from '../../contracts/messages/run-context';
import type { SharpenResult } from '../../contracts/messages/sharpen-stage';
import { MIXED } from '../../contracts/names';
import { jobs, orchestration, sandbox } from '../shared/activities';
import { settleAll } from '../shared/settle-all';
import { type EvaluationOutcome, type EvaluationStage, reasonOf, rollOut } from './evaluation-stage';

/**
 * Evaluates the trained adapters. All arms get the same held-out tasks and sampling seeds, so that they can be compared
 * in pairs. Arms are the base model, each adapter, the candidate (the version to promote), the mixed adapter if the
 * plan has it, and the active version. A failure makes the run wait. The mixed adapter, or only its arm, is left out if
 * it fails or a person skips it. The comparison then says why.
 */
export async function evaluateArms(
  run: PlannedStage,
  identified: IdentifyResult,
  sharpened: SharpenResult[],
): Promise<EvaluationOutcome> {
  const { plan } = run;
  const planned = await planEvaluation(run);
  const stage = { ...run, heldOut: planned.heldOut };
  const trained = sharpened.flatMap((s) => (s.adapter === null ? [] : [{ ...s, adapter: s.adapter }]));
  const adapters = trained.map((s) => s.adapter);
  const capabilities = trained.map((s) => s.capability);

  // The mixed adapter trains while the model server works on the other arms. Adapters that were kept from the active
  // version have no environment here.
  const taught = trained.filter(({ environment }) => environment !== null);
  const training =
    plan.mixedAdapter && taught.length > 1 ? trainMixed(stage, identified, sharpened) : Promise.resolve(NO_MIXED);
  const playing = playAlone(stage, adapters);
  await settleAll<unknown>([training, playing]);
  const [mixed, arms] = [await training, await playing];

  const candidate = await playCandidate(stage, identified, { adapters, capabilities, mixed: mixed.value });
  arms.push(candidate.arm);
  // The candidate may be the mixed adapter alone; then both have the same rollouts.
  const mixedArm: LeftOut<ArmRollouts> =
    mixed.value === null
      ? { value: null, failure: mixed.failure }
      : candidate.isMixed
        ? { value: { ...candidate.arm, arm: MIXED, kind: 'mixed' as const }, failure: null }
        : await playMixed(stage, mixed.value);
  if (mixedArm.value !== null) arms.push(mixedArm.value);
  const { routing, router, choice } = candidate;
  const played: Played = {
    arms,
    router,
    // The candidate was judged with this adapter, even if the mixed adapter alone was not compared.
    mixed: mixed.value,
    input: {
      capabilities,
      adapters,
      routing,
      router,
      routerChoice: choice,
      ...(mixed.value && { mixed: mixed.value }),
      ...(stage.retires && { retires: stage.retires }),
      ...(mixedArm.failure !== null && { mixedFailure: mixedArm.failure }),
    },
  };
  return judge(stage, planned, played);
}

/** The played arms, and the inputs of the comparison. */
interface Played extends Pick<EvaluationOutcome, 'arms' | 'mixed'> {
  router: ArtifactRef;
  input: Omit<CompareInput, 'context' | 'arms' | 'plan'>;
}

/** A part of the evaluation, or the reason why it was left out. Both are null if the plan has no such part. */
interface LeftOut<T> {
  value: T | null;
  failure: string | null;
}

const NO_MIXED: LeftOut<TrainedAdapter> = { value: null, failure: null };

/** Performs a step of the stage. It reads the context itself, because `whet retry RUN --spec` changes it. */
const perform = <T>({ gates }: PlannedStage, step: () => Promise<T>): Promise<T> => gates.perform('evaluate', step);

/** The stage before it has a plan. */
type PlannedStage = Omit<EvaluationStage, 'heldOut'>;

/** @param heldOut the tasks of an earlier plan; the new plan repeats them. */
async function planEvaluation(stage: PlannedStage, heldOut?: HeldOut): Promise<PlanEvaluationResult> {
  const { plan, trajectories, failed } = stage;
  const planned = await perform(stage, () =>
    sandbox.planEvaluation.executeWithOptions({ summary: 'what the candidate has to beat' }, [
      {
        ...{ context: plan.context, trajectories },
        ...(failed !== undefined && { failed }),
        ...(heldOut && { heldOut }),
      },
    ]),
  );
  stage.show(planned.summary);
  return planned;
}

/** Plays the base model, and each adapter, on every task. */
async function playAlone(stage: EvaluationStage, adapters: readonly TrainedAdapter[]): Promise<ArmRollouts[]> {
  const arms = [await perform(stage, () => rollOut(stage, 'base', 'base', []))];
  for (const adapter of adapters)
    arms.push(await perform(stage, () => rollOut(stage, adapter.name, 'adapter', [adapter])));
  return arms;
}

/** Chooses the candidate on the train tasks, and plays it on the held-out ones. */
async function playCandidate(
  stage: EvaluationStage,
  { labels }: IdentifyResult,
  parts: { adapters: TrainedAdapter[]; capabilities: CapabilityBrief[]; mixed: TrainedAdapter | null },
): Promise<{ arm: ArmRollouts; routing: ArtifactRef; router: ArtifactRef; choice: ArtifactRef; isMixed: boolean }> {
  const { plan, trajectories } = stage;
  const { adapters, capabilities, mixed } = parts;
  const { router, choice, kind, followsTools } = await perform(stage, () =>
    sandbox.chooseRouter.executeWithOptions({ summary: 'candidates compete on train tasks' }, [
      { context: plan.context, adapters, capabilities, trajectories, labels, ...(mixed && { mixed }) },
    ]),
  );
  const served = [...capabilities, ...(mixed ? [{ id: MIXED, name: MIXED, summary: MIXED }] : [])];
  const { routing } = await perform(stage, () =>
    sandbox.routeTasks.executeWithOptions({ summary: 'route held-out tasks' }, [
      { context: plan.context, capabilities: served, router, name: 'routing', heldOut: stage.heldOut },
    ]),
  );
  const all = [...adapters, ...(mixed ? [mixed] : [])];
  const arm = await perform(stage, () => rollOut(stage, 'routed', 'routed', all, { routing, router }));
  return { arm, routing, router, choice, isMixed: kind === 'mixed' && !followsTools };
}

/** Trains one adapter in all environments, with as many rollouts as the other adapters together (paper, table 3). */
function trainMixed(
  stage: EvaluationStage,
  { labels }: IdentifyResult,
  sharpened: SharpenResult[],
): Promise<LeftOut<TrainedAdapter>> {
  const environments = sharpened.flatMap((s) =>
    s.adapter === null || s.environment === null ? [] : [{ id: s.capability.id, source: s.environment }],
  );
  return unlessLeftOut(stage, () =>
    jobs.trainAdapter.executeWithOptions({ summary: 'train mixed: all environments' }, [
      {
        context: stage.plan.context,
        job: MIXED,
        environments,
        budgetFactor: environments.length,
        evidence: { trajectories: stage.trajectories, labels },
      },
    ]),
  );
}

const playMixed = (stage: EvaluationStage, mixed: TrainedAdapter): Promise<LeftOut<ArmRollouts>> =>
  unlessLeftOut(stage, () => rollOut(stage, MIXED, MIXED, [mixed]));

/** Works on the mixed adapter unless a person skips it. Throws only when the run is cancelled. */
async function unlessLeftOut<T>({ skippable }: EvaluationStage, work: () => Promise<T>): Promise<LeftOut<T>> {
  const run = CancellationScope.current();
  const part = new CancellationScope();
  skippable.set(MIXED, () => part.cancel());
  try {
    return { value: await part.run(work), failure: null };
  } catch (error) {
    if (run.consideredCancelled) throw error;
    return { value: null, failure: reasonOf(error, part.consideredCancelled) };
  } finally {
    skippable.delete(MIXED);
  }
}

/** Plays the active version through the gateway's code, and compares all arms. */
async function judge(
  stage: EvaluationStage,
  planned: PlanEvaluationResult,
  played: Played,
): Promise<EvaluationOutcome> {
  const { plan, gates, heldOut } = stage;
  const { incumbent } = planned;
  const rival =
    incumbent &&
    (await gates.performUnlessSkipped('incumbent', async () => {
      const { version, adapters, capabilities, router } = incumbent;
      const { routing } = await sandbox.routeTasks.executeWithOptions(
        { summary: `route held-out tasks as version ${version} does` },
        [{ context: plan.context, capabilities, router, name: 'incumbent-routing', heldOut }],
      );
      return { routing, arm: await rollOut(stage, 'incumbent', 'incumbent', adapters, { routing, router, incumbent }) };
    }));
  const arms = rival ? [...played.arms, rival.arm] : played.arms;
  const comparison = await perform(stage, () =>
    orchestration.compareArms.executeWithOptions({ summary: `compare ${arms.length} arms` }, [
      {
        context: plan.context,
        arms,
        ...played.input,
        plan: planned.plan,
        ...(incumbent && rival && { incumbent: { ...incumbent, routing: rival.routing } }),
        ...(incumbent && !rival && { incumbentFailure: 'A person skipped it.' }),
      },
    ]),
  );
  return {
    arms,
    routing: played.input.routing,
    router: played.router,
    mixed: played.mixed,
    comparison,
    judgeAgain: async () => judge(stage, await planEvaluation(stage, heldOut), played),
  };
}
