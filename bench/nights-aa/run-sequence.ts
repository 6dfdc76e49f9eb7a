import { evaluateTable } from '../../activities/evaluate/evaluate-table';
import { decideGate } from '../../activities/evaluate/gate';
import { armTable, type OutcomeTable, taskRates } from '../../activities/evaluate/outcome-table';
import { mean } from '../../activities/statistics/mean';
import type { Evaluation } from '../../contracts/artifacts/evaluation';
import { agentSpecSchema } from '../../contracts/config/agent-spec';
import { confidenceOfComparison } from '../../contracts/statistics/error-spending';
import { ADAPTER, drawEvaluation, UNREAD } from '../gate/draw-evaluation';

/** One agent's nights, in each of which the candidate is exactly as good as what is served. */
export interface AaTask {
  nights: number;
  tasks: number;
  trials: number;
  seed: number;
}

/** What the nights of one agent promoted. */
export interface AaSequence {
  /** The first night that promoted, from 1; null: none. */
  promotedIn: number | null;
  /** Whether a night would have promoted without error spending. */
  promotedUnspent: boolean;
}

/** Resamples behind each interval: fewer than a run has, which makes the gate less exact and not more lenient. */
const BOOTSTRAP_SAMPLES = 1000;
const VERSION = 1;
const { confidence } = agentSpecSchema.shape.evaluation.parse(undefined);
const settings = agentSpecSchema.shape.gate.parse(undefined);

/** Runs the nights until one promotes: then another version is served. */
export function runSequence({ nights, tasks, trials, seed }: AaTask): AaSequence {
  let promotedUnspent = false;
  for (let night = 1; night <= nights; night++) {
    const table = drawEvaluation({ tasks, trials, incumbent: true, gain: 0 }, seed + night * 7919);
    // The lower end of an interval lies at the estimate or below: such a candidate is never promoted.
    if (lead(table) <= 0) continue;
    const evaluation = judge(table, night, seed + night);
    if (decideGate(evaluation, settings).passed) return { promotedIn: night, promotedUnspent: true };
    promotedUnspent ||= decideGate(unspent(evaluation), settings).passed;
  }
  return { promotedIn: null, promotedUnspent };
}

/** The evaluation without error spending: judged at the full error. */
function unspent(evaluation: Evaluation): Evaluation {
  const { routedMinusBase, incumbent, judged } = evaluation;
  const { routedMinus: routedMinusIncumbent, regression } = incumbent!;
  const loss = regression.tasks === 0 ? null : regression.loss;
  return { ...evaluation, judged: { ...judged, confidence, routedMinusBase, routedMinusIncumbent, loss } };
}

const lead = (table: OutcomeTable): number =>
  mean(taskRates(armTable(table, 'routed'))) - mean(taskRates(armTable(table, 'incumbent')));

function judge(table: OutcomeTable, comparison: number, seed: number): Evaluation {
  return evaluateTable(table, {
    capabilities: [{ id: 'adapter', name: 'adapter', summary: 'adapter' }],
    adapters: [{ name: ADAPTER, capabilityId: 'adapter' } as Parameters<typeof evaluateTable>[1]['adapters'][number]],
    routing: [],
    allOf: table.trials,
    ...UNREAD,
    readsTags: false,
    bootstrapSamples: BOOTSTRAP_SAMPLES,
    confidence,
    seed,
    judging: { against: VERSION, comparison, confidence: confidenceOfComparison(confidence, comparison) },
    incumbent: { version: VERSION, differing: table.seeds.length },
  });
}
