import { pluralise } from '../../contracts/pluralise';
import { evaluationPlanSchema, type EvaluationPlan } from '../../contracts/artifacts/evaluation-plan';
import { type Trajectory, trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { HeldOut, PlanEvaluationInput, PlanEvaluationResult } from '../../contracts/messages/evaluate-stage';
import {
  type EvaluationSize,
  minimumDetectableGain,
  observedSpread,
  POWER,
} from '../../contracts/statistics/minimum-detectable-gain';
import { heldOutSize } from '../../contracts/statistics/held-out-size';
import { plannedTrials } from '../../contracts/statistics/planned-trials';
import { pointsText } from '../../contracts/share-text';
import { type ArtifactStore, layout, putJson, readRegistry, storedLines } from '../../store';
import { activeVersion, playableVersion } from '../active-version';
import { Progress } from '../progress';
import { readPreparedSpec } from '../prepared-spec';
import { judgingOf } from './comparison-count';
import { heldOutBlock } from './held-out-block';

/**
 * Activity: freezes the version that is active now, which the candidate has to beat, and
 * states the smallest gain that the evaluation can prove, before any held-out task is played. Where the owner names the
 * gain that is to be provable, it says how many trials that takes.
 */
export async function planEvaluation(
  store: ArtifactStore,
  { context: { runId, agent, spec }, trajectories, failed, heldOut: before }: PlanEvaluationInput,
): Promise<PlanEvaluationResult> {
  using _ = new Progress({ stage: 'evaluate', unit: 'plans', total: 1, note: 'reading base' });
  const prepared = await readPreparedSpec(store, spec);
  const registry = await readRegistry(store, agent);
  const found = activeVersion(registry, prepared);
  const passes = await passesByTask(await storedLines(store, trajectorySchema)(trajectories));
  const { confidence } = prepared.spec.evaluation;
  const { tasks } = heldOutSize(prepared.spec);
  const { passRate, withinTask } = observedSpread(passes);
  const { canary } = registry;
  const served = typeof found === 'string' ? null : found.version;
  const comparison = { runId, against: served, baseModel: prepared.baseModelSha256 };
  const judging = await judgingOf(store, agent, comparison, confidence);
  const size = { tasks, confidence: judging.confidence, withinTask, ...(failed !== undefined && { failed }) };
  const rotation = await heldOutBlock(store, { runId, spec: prepared.spec });
  const { trials, aim } = trialsOf(prepared.spec, size, before);
  const plan: EvaluationPlan = {
    tasks,
    ...(rotation && { rotation }),
    trials,
    basePassRate: passRate,
    ...(failed !== undefined && { failed }),
    minimumDetectableGain: minimumDetectableGain({ ...size, trials }),
    ...(aim && { aim }),
    power: POWER,
    active: registry.active,
    noIncumbent: typeof found === 'string' ? found : null,
    canary: canary === undefined ? null : { version: canary.version, share: canary.share },
    judging,
  };
  const folder = layout.evaluation(runId);
  return {
    plan: await putJson(store, folder, 'evaluation-plan.json', evaluationPlanSchema.parse(plan)),
    incumbent: typeof found === 'string' ? null : playableVersion(found),
    heldOut: { trials, ...(rotation && { seeds: rotation.seeds }) },
    summary: planSummary(plan),
  };
}

/** Number of trials of each held-out task. A second plan of a run keeps the first plan's trials. */
function trialsOf(
  spec: AgentSpec,
  size: Omit<EvaluationSize, 'trials'>,
  before: HeldOut | undefined,
): Pick<EvaluationPlan, 'trials' | 'aim'> {
  const { leastTrials, mostTrials } = heldOutSize(spec);
  const { detectableGain: gain } = spec.evaluation;
  if (gain === undefined) return { trials: before?.trials ?? leastTrials };
  const [least, most] = before ? [before.trials, before.trials] : [leastTrials, mostTrials];
  const { trials, reached, floor } = plannedTrials(size, { least, most, gain });
  return { trials, aim: { gain, leastTrials, mostTrials, reached, floor } };
}

/** Passes (1) and failures (0) of the base model on each train task. */
async function passesByTask(trajectories: AsyncIterable<Trajectory>): Promise<number[][]> {
  const passes = new Map<number, number[]>();
  for await (const { task, success } of trajectories)
    if (task.split === 'train') passes.set(task.seed, [...(passes.get(task.seed) ?? []), success ? 1 : 0]);
  return [...passes.values()];
}

/** One line for people: `comparison 2 with version 1; a gain of 4.2 points or more can be proved`. */
function planSummary({ judging, noIncumbent, active, trials, aim, ...plan }: EvaluationPlan): string {
  const rival = noIncumbent === null ? `version ${active}` : 'base';
  const missed = aim?.reached === false ? `, not the ${pointsText(aim.gain)} wanted` : '';
  return (
    `comparison ${judging.comparison} with ${rival}; a gain of ${pointsText(plan.minimumDetectableGain)} or more ` +
    `can be proved${aim === undefined ? '' : ` with ${pluralise(trials, 'trial')}`}${missed}`
  );
}
