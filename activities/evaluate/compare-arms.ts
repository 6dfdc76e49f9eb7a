import {
  type Evaluation,
  evaluationSchema,
  type Gate,
  routingRecordSchema,
} from '../../contracts/artifacts/evaluation';
import { evaluationPlanSchema, type Judging } from '../../contracts/artifacts/evaluation-plan';
import { doNothingSchema } from '../../contracts/artifacts/do-nothing';
import { routerChoiceSchema } from '../../contracts/artifacts/router-choice';
import { sawHarm } from '../../contracts/artifacts/watch-words';
import { trainingManifestSchema } from '../../contracts/artifacts/training';
import type { CompareInput, CompareResult, StoredAdapter } from '../../contracts/messages/evaluate-stage';
import type { FailedByCause } from '../../contracts/failed-episodes';
import { failure } from '../../contracts/typed-failure';
import { percentText } from '../../contracts/share-text';
import { type ArtifactStore, getJson, getLines, layout, putJson } from '../../store';
import { pointsRangeWithUnit, pointsWithUnit } from '../html/format';
import { readPreparedSpec } from '../prepared-spec';
import { countComparison, judgingOf } from './comparison-count';
import { evaluateTable } from './evaluate-table';
import { rateText } from './caveats';
import { type Learned, rewardGain } from './diagnosis';
import { differingTasks } from './differing-tasks';
import { decideGate } from './gate';
import { type Outcome, outcomeSchema, pairOutcomes, UnpairedError } from './outcome-table';
import { routerSchema } from '../../routing/kinds';

/**
 * Activity: turns the rollouts of all arms into one `Evaluation`. Reads the arms' trajectories, writes the evaluation
 * artifact and decides the gate. The same input gives the same artifact.
 * @throws Evaluate.Unpaired when no task was run in full by every arm, or one trial is there twice.
 */
export async function compareArms(store: ArtifactStore, input: CompareInput): Promise<CompareResult> {
  const { spec, baseModelSha256: baseModel } = await readPreparedSpec(store, input.context.spec);
  const { runId, agent, seed } = input.context;
  const arms: { name: string; outcomes: Outcome[] }[] = [];
  const failed = new Map<string, FailedByCause>();
  // One arm after the other: a parsed trajectories artifact can be tens of megabytes.
  for (const { arm, rollouts } of input.arms) {
    const outcomes = await getLines(store, rollouts.trajectories, outcomeSchema);
    const lost = rollouts.failedTrajectories && (await getLines(store, rollouts.failedTrajectories, outcomeSchema));
    arms.push({ name: arm, outcomes: [...outcomes, ...(lost ?? [])] });
    if (rollouts.failed) failed.set(arm, rollouts.failed);
  }
  const routing = await getLines(store, input.routing, routingRecordSchema);
  const routerChoice = await getJson(store, input.routerChoice, routerChoiceSchema);
  const plan = await getJson(store, input.plan, evaluationPlanSchema);
  const nothing = await doNothingOf(store, input);
  const incumbent = input.incumbent && {
    version: input.incumbent.version,
    differing: await differingTasks(store, input, input.incumbent, routing),
  };
  const { bootstrapSamples, confidence } = spec.evaluation;
  const own = { runId, against: plan.judging.against, baseModel };
  try {
    const table = pairOutcomes(arms, plan.trials);
    const learned = await learnedBy(store, input);
    const retires = await retirementAlone(store, input);
    const judge = (judging: Judging): Judged => {
      const figures = evaluateTable(table, {
        ...input,
        routing,
        routerChoice,
        readsTags: spec.groundTruth !== undefined,
        allOf: spec.evaluation.trials,
        bootstrapSamples,
        confidence,
        seed,
        plan,
        judging,
        incumbent,
        failed,
        nothing,
      });
      const evaluation = evaluationSchema.parse(figures);
      return { evaluation, gate: decideGate(evaluation, spec.gate, learned, retires) };
    };
    // A run that is cancelled before it is counted has no result. If another run was counted in between, the
    // candidate is judged again.
    const first = await judgingOf(store, agent, own, confidence);
    const judged = judge(first);
    const counted = await countComparison(store, agent, own, confidence);
    const { evaluation, gate } = counted.comparison === first.comparison ? judged : judge(counted);
    return {
      evaluation: await putJson(store, layout.evaluation(runId), 'evaluation.json', evaluation),
      gatePassed: gate.passed,
      gateReasons: gate.reasons,
      summary: evaluationSummary(evaluation),
      ...(gate.culprit && { culprit: gate.culprit }),
    };
  } catch (error) {
    if (error instanceof UnpairedError) throw failure('Evaluate.Unpaired', error.message, { cause: error });
    throw error;
  }
}

/** By task, whether an agent passes that does nothing. */
async function doNothingOf(store: ArtifactStore, { arms }: CompareInput): Promise<Map<number, boolean>> {
  const played = arms.flatMap(({ doNothing }) => doNothing ?? [])[0];
  const { outcomes } = played ? await getJson(store, played, doNothingSchema) : { outcomes: [] };
  return new Map(outcomes.map(({ seed, passed }) => [seed, passed]));
}

/** A comparison with the gate's decision. */
interface Judged {
  evaluation: Evaluation;
  gate: Gate;
}

/**
 * The retired capabilities, if removing them is the candidate's only difference from the active version. Then it has no
 * new adapter, and it lacks no further adapter, such as one that could not be kept or that its router leaves out. Empty
 * for any other candidate.
 */
async function retirementAlone(
  store: ArtifactStore,
  { retires = [], adapters, mixed, incumbent, router }: CompareInput,
): Promise<string[]> {
  if (retires.length === 0 || mixed !== undefined || incumbent === undefined) return [];
  const { leftOut } = await getJson(store, router, routerSchema);
  const served = new Set(incumbent.adapters.map(nameOf));
  const candidate = adapters.filter(({ capabilityId }) => !leftOut.includes(capabilityId)).map(nameOf);
  const gone = incumbent.adapters.filter((adapter) => !candidate.includes(nameOf(adapter)));
  const isAlone =
    candidate.every((name) => served.has(name)) &&
    gone.length === retires.length &&
    gone.every(({ capabilityId }) => retires.includes(capabilityId));
  return isAlone ? retires : [];
}

const nameOf = ({ capabilityId, sha256 }: StoredAdapter): string => `${capabilityId}@${sha256}`;

/** How the reward of each adapter changed in its training. */
async function learnedBy(store: ArtifactStore, { adapters }: CompareInput): Promise<Learned[]> {
  const learned: Learned[] = [];
  for (const { capabilityId, manifest } of adapters) {
    const { curve, watch } = await getJson(store, manifest, trainingManifestSchema);
    const harmed = watch !== undefined && sawHarm(watch);
    learned.push({ capabilityId, gain: rewardGain(curve), ...(harmed && { harmed }) });
  }
  return learned;
}

/**
 * One line for people: `base 34.1 %, best single 48.0 %, routed 80.2 %, difference +46.1 points (95 % interval +41.0 to
 * +51.2 points); an agent that does nothing 2.0 % (0.1 % to 5.3 %)`.
 */
export function evaluationSummary(evaluation: Evaluation): string {
  const { base, bestSingle, incumbent, routed, routedMinusBase, confidence, doNothing } = evaluation;
  return (
    `base ${percentText(base.passRate.estimate)}, best single ${percentText(bestSingle.passRate.estimate)}, ` +
    (incumbent ? `version ${incumbent.version} ${percentText(incumbent.arm.passRate.estimate)}, ` : '') +
    `routed ${percentText(routed.passRate.estimate)}, ` +
    `difference ${pointsWithUnit(routedMinusBase.estimate)} ` +
    `(${Math.round(confidence * 100)} % interval ${pointsRangeWithUnit(routedMinusBase)})` +
    (doNothing ? `; an agent that does nothing ${rateText(doNothing.passRate)}` : '')
  );
}
