import { Context } from '@temporalio/activity';
import { evaluationPlanSchema, type EvaluationPlan } from '../../contracts/artifacts/evaluation-plan';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { PlanEvaluationInput, PlanEvaluationResult } from '../../contracts/messages/evaluate-stage';
import { minimumDetectableGain, observedSpread, POWER } from '../../contracts/statistics/minimum-detectable-gain';
import { type ArtifactStore, layout, putJson, readRegistry, storedLines } from '../../store';
import { activeVersion, playableVersion } from '../active-version';
import { startProgress } from '../progress';
import { readPreparedSpec } from '../prepared-spec';
import { judgingOf } from './comparison-count';

/**
 * Makes the activity `planEvaluation`: freezes the version that is active now, which the candidate has to beat, and
 * states the smallest gain that the evaluation can prove, before any held-out task is played.
 */
export function createPlanEvaluation(
  store: ArtifactStore,
): (input: PlanEvaluationInput) => Promise<PlanEvaluationResult> {
  return async ({ context: { runId, agent, spec }, trajectories }) => {
    const { heartbeat } = Context.current();
    const progress = startProgress({ stage: 'evaluate', unit: 'plans', total: 1, heartbeat, note: 'reading base' });
    try {
      const prepared = await readPreparedSpec(store, spec);
      const registry = await readRegistry(store, agent);
      const found = activeVersion(registry, prepared);
      const passes = await passesByTask(await storedLines(store, trajectorySchema)(trajectories));
      const { trials, confidence } = prepared.spec.evaluation;
      const tasks = prepared.spec.environment.heldOutSeeds.count;
      const { passRate, withinTask } = observedSpread(passes);
      const { canary } = registry;
      const served = typeof found === 'string' ? null : found.version;
      const comparison = { runId, against: served, baseModel: prepared.baseModelSha256 };
      const judging = await judgingOf(store, agent, comparison, confidence);
      const plan: EvaluationPlan = {
        tasks,
        trials,
        basePassRate: passRate,
        minimumDetectableGain: minimumDetectableGain({ tasks, trials, confidence: judging.confidence, withinTask }),
        power: POWER,
        active: registry.active,
        noIncumbent: typeof found === 'string' ? found : null,
        canary: canary === undefined ? null : { version: canary.version, share: canary.share },
        judging,
      };
      const folder = layout.evaluation(runId);
      return {
        plan: await putJson(store, folder, 'evaluation-plan.json', evaluationPlanSchema.parse(plan)),
        incumbent: typeof found === 'string' ? null : await playableVersion(store, folder, found),
        summary: planSummary(plan),
      };
    } finally {
      progress.stop();
    }
  };
}

/** Passes (1) and failures (0) of the base model on each train task. */
async function passesByTask(trajectories: AsyncIterable<Trajectory>): Promise<number[][]> {
  const passes = new Map<number, number[]>();
  for await (const { task, success } of trajectories)
    if (task.split === 'train') passes.set(task.seed, [...(passes.get(task.seed) ?? []), success ? 1 : 0]);
  return [...passes.values()];
}

/** One line for people: `comparison 2 with version 1; a gain of 4.2 points or more can be proved`. */
function planSummary({ judging, noIncumbent, active, minimumDetectableGain: gain }: EvaluationPlan): string {
  const rival = noIncumbent === null ? `version ${active}` : 'base';
  return `comparison ${judging?.comparison} with ${rival}; a gain of ${(gain * 100).toFixed(1)} points or more can be proved`;
}
