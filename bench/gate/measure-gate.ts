import { evaluateTable } from '../../activities/evaluate/evaluate-table';
import { decideGate } from '../../activities/evaluate/gate';
import { confidenceOfComparison } from '../../contracts/statistics/error-spending';
import { agentSpecSchema } from '../../contracts/config/agent-spec';
import { ADAPTER, drawEvaluation, type Truth, UNREAD } from './draw-evaluation';

/** Resamples behind each interval: fewer than a run has, which makes the gate less exact and not more lenient. */
const BOOTSTRAP_SAMPLES = 1000;

/** Confidence of the k-th comparison with the same rival, with the settings of a new agent.yaml. */
export const judgedConfidence = (comparison: number): number => confidenceOfComparison(CONFIDENCE, comparison);

const CONFIDENCE = agentSpecSchema.shape.evaluation.parse(undefined).confidence;

/** How often the gate lets a candidate through of which the truth is known, with the settings of a new agent.yaml. */
export function promotedShare(truth: Truth, repetitions: number, seed: number): number {
  let promoted = 0;
  for (let repetition = 0; repetition < repetitions; repetition++)
    if (isPromoted(truth, seed + repetition)) promoted += 1;
  return promoted / repetitions;
}

function isPromoted({ comparison = 1, ...truth }: Truth, seed: number): boolean {
  const table = drawEvaluation(truth, seed);
  const evaluation = evaluateTable(table, {
    capabilities: [{ id: 'adapter', name: 'adapter', summary: 'adapter' }],
    adapters: [{ name: ADAPTER, capabilityId: 'adapter' } as Parameters<typeof evaluateTable>[1]['adapters'][number]],
    routing: [],
    allOf: table.trials,
    ...UNREAD,
    readsTags: false,
    bootstrapSamples: BOOTSTRAP_SAMPLES,
    confidence: CONFIDENCE,
    judging: { against: truth.incumbent ? 1 : null, comparison, confidence: judgedConfidence(comparison) },
    seed,
    ...(truth.incumbent && { incumbent: { version: 1, differing: truth.tasks } }),
  });
  return decideGate(evaluation, agentSpecSchema.shape.gate.parse(undefined)).passed;
}
