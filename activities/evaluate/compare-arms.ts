import { type Evaluation, evaluationSchema, routingRecordSchema } from '../../contracts/artifacts/evaluation';
import { routerChoiceSchema } from '../../contracts/artifacts/router';
import type { OrchestrationActivities } from '../../contracts/messages/activities';
import type { CompareInput, CompareResult } from '../../contracts/messages/evaluate-stage';
import { failure } from '../../contracts/typed-failure';
import { type ArtifactStore, getJson, getLines, layout, putJson } from '../../store';
import { pointsRangeWithUnit, pointsWithUnit } from '../html/format';
import { readPreparedSpec } from '../prepared-spec';
import { evaluateTable } from './evaluate-table';
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
          }),
        );
        const gate = decideGate(evaluation, spec.gate);
        return {
          evaluation: await putJson(store, layout.evaluation(input.context.runId), 'evaluation.json', evaluation),
          gatePassed: gate.passed,
          gateReasons: gate.reasons,
          summary: evaluationSummary(evaluation),
        };
      } catch (error) {
        if (error instanceof UnpairedError) throw failure('Evaluate.Unpaired', error.message, { cause: error });
        throw error;
      }
    },
  };
}

/**
 * One line for people: `base 34.1 %, best single 48.0 %, routed 80.2 %, difference +46.1 points (+41.0 to +51.2
 * points)`.
 */
export function evaluationSummary({ base, bestSingle, routed, routedMinusBase }: Evaluation): string {
  const rate = (value: number) => `${(value * 100).toFixed(1)} %`;
  return (
    `base ${rate(base.passRate.estimate)}, best single ${rate(bestSingle.passRate.estimate)}, ` +
    `routed ${rate(routed.passRate.estimate)}, ` +
    `difference ${pointsWithUnit(routedMinusBase.estimate)} (${pointsRangeWithUnit(routedMinusBase)})`
  );
}
