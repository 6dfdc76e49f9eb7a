import {
  type Evaluation,
  evaluationSchema,
  type RoutingRecord,
  routingRecordSchema,
} from '../../contracts/artifacts/evaluation';
import { evaluationPlanSchema } from '../../contracts/artifacts/evaluation-plan';
import { routerChoiceSchema } from '../../contracts/artifacts/router';
import { trainingManifestSchema } from '../../contracts/artifacts/training';
import type { OrchestrationActivities } from '../../contracts/messages/activities';
import type { CompareInput, CompareResult, StoredAdapter } from '../../contracts/messages/evaluate-stage';
import { failure } from '../../contracts/typed-failure';
import { type ArtifactStore, getJson, getLines, layout, putJson } from '../../store';
import { pointsRangeWithUnit, pointsWithUnit } from '../html/format';
import { readPreparedSpec } from '../prepared-spec';
import { evaluateTable } from './evaluate-table';
import { type Learned, rewardGain } from './diagnosis';
import { decideGate } from './gate';
import { type Outcome, outcomeSchema, pairOutcomes, UnpairedError } from './outcome-table';

/** What the comparison needs. */
export interface CompareDeps {
  store: ArtifactStore;
}

/** The activity that turns the rollouts of all arms into one `Evaluation`. */
export function createCompareActivities({ store }: CompareDeps): Pick<OrchestrationActivities, 'compareArms'> {
  return {
    /**
     * Reads the arms' trajectories, writes the evaluation artifact and decides the gate. The same input gives the same
     * artifact.
     * @throws Evaluate.Unpaired when no task was run in full by every arm, or one trial is there twice.
     */
    async compareArms(input: CompareInput): Promise<CompareResult> {
      const { spec } = await readPreparedSpec(store, input.context.spec);
      const arms: { name: string; outcomes: Outcome[] }[] = [];
      // One arm after the other: a parsed trajectories artifact can be tens of megabytes.
      for (const { arm, rollouts } of input.arms)
        arms.push({ name: arm, outcomes: await getLines(store, rollouts.trajectories, outcomeSchema) });
      const routing = await getLines(store, input.routing, routingRecordSchema);
      const routerChoice = input.routerChoice && (await getJson(store, input.routerChoice, routerChoiceSchema));
      const plan = input.plan && (await getJson(store, input.plan, evaluationPlanSchema));
      const incumbent = input.incumbent && {
        version: input.incumbent.version,
        differing: await differingTasks(store, input, input.incumbent, routing),
      };
      const { trials, bootstrapSamples, confidence } = spec.evaluation;
      try {
        const evaluation = evaluationSchema.parse(
          evaluateTable(pairOutcomes(arms, trials), {
            capabilities: input.capabilities,
            adapters: input.adapters,
            routing,
            routerChoice,
            readsTags: spec.groundTruth !== undefined,
            bootstrapSamples,
            confidence,
            seed: input.context.seed,
            mixedFailure: input.mixedFailure,
            plan,
            incumbent,
            incumbentFailure: input.incumbentFailure,
          }),
        );
        const gate = decideGate(evaluation, spec.gate, await learnedBy(store, input));
        return {
          evaluation: await putJson(store, layout.evaluation(input.context.runId), 'evaluation.json', evaluation),
          gatePassed: gate.passed,
          gateReasons: gate.reasons,
          summary: evaluationSummary(evaluation),
          ...(gate.culprit && { culprit: gate.culprit }),
        };
      } catch (error) {
        if (error instanceof UnpairedError) throw failure('Evaluate.Unpaired', error.message, { cause: error });
        throw error;
      }
    },
  };
}

/** Held-out tasks that the candidate gives to another adapter than the active version. Names carry the hash. */
async function differingTasks(
  store: ArtifactStore,
  { adapters, mixed }: CompareInput,
  incumbent: NonNullable<CompareInput['incumbent']>,
  routing: readonly RoutingRecord[],
): Promise<number> {
  const served = await getLines(store, incumbent.routing, routingRecordSchema);
  const nameOf = (known: readonly StoredAdapter[], id: string) =>
    known.find(({ capabilityId }) => capabilityId === id)?.name ?? null;
  const now = new Map(served.map(({ seed, capabilityId }) => [seed, nameOf(incumbent.adapters, capabilityId)]));
  const candidates = [...adapters, ...(mixed ? [mixed] : [])];
  return routing.filter(({ seed, capabilityId }) => nameOf(candidates, capabilityId) !== now.get(seed)).length;
}

/** What the curves of the trainings say. */
async function learnedBy(store: ArtifactStore, { adapters, plan }: CompareInput): Promise<Learned[]> {
  // Runs from before there was a plan had no diagnosis; a repaired one must not get another answer.
  if (plan === undefined) return [];
  const learned: Learned[] = [];
  for (const { capabilityId, manifest } of adapters)
    learned.push({ capabilityId, gain: rewardGain((await getJson(store, manifest, trainingManifestSchema)).curve) });
  return learned;
}

/**
 * One line for people: `base 34.1 %, best single 48.0 %, routed 80.2 %, difference +46.1 points (+41.0 to +51.2
 * points)`.
 */
export function evaluationSummary({ base, bestSingle, incumbent, routed, routedMinusBase }: Evaluation): string {
  const rate = (value: number) => `${(value * 100).toFixed(1)} %`;
  return (
    `base ${rate(base.passRate.estimate)}, best single ${rate(bestSingle.passRate.estimate)}, ` +
    (incumbent ? `version ${incumbent.version} ${rate(incumbent.arm.passRate.estimate)}, ` : '') +
    `routed ${rate(routed.passRate.estimate)}, ` +
    `difference ${pointsWithUnit(routedMinusBase.estimate)} (${pointsRangeWithUnit(routedMinusBase)})`
  );
}
