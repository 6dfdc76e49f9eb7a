import { Context } from '@temporalio/activity';
import type { Candidate, Identification, IdentifyResult, LabelChunksInput, LabelRecord, PreparedSpec, TokenUse, Trajectory } from '../../contracts';
import { failure } from '../../llm';
import { layout, putJson, type LineFile } from '../../store';
import { RecordedCalls, sumCalls } from '../analyst-calls';
import { startProgress } from '../progress';
import { contrast, countLabel, noCounts, rankKept } from './contrast';
import { DISCOVERY_WORK } from './discover';
import type { Documents } from './documents';
import { knownLabels, labelKey, type LabelPlanDocument } from './label-store';
import { comparePlanted } from './planted';

type ContrastInput = Omit<LabelChunksInput, 'cursor'> & { discoveryCalls: number };

/**
 * Merges the labels of all chunks in the order of the plan, contrasts each candidate and selects. What the artifacts hold follows from
 * the labels alone, in whatever order and by however many attempts they were asked. Throws Identify.TooManyUnlabelled.
 */
export async function contrastCapabilities(documents: Documents, input: ContrastInput): Promise<Omit<IdentifyResult, 'tokens'> & { tokens: TokenUse[] }> {
  const { context, totals } = input;
  const { store } = documents;
  const prepared = await documents.prepared(context);
  const candidates = await documents.candidates(input.candidates);
  const file = await documents.trajectories(input.trajectories);
  const plan = await documents.plan(input.plan.plan);
  const merged = await mergeLabels(documents, input, plan, candidates, file);
  const labels = await store.put(layout.labels(context.runId), 'labels.jsonl', merged.lines.join(''), { records: merged.lines.length });

  const { maxUnlabelled, minGap, minCoverage } = prepared.spec.identify;
  if (merged.unlabelled > maxUnlabelled * merged.lines.length) {
    throw failure(
      'Identify.TooManyUnlabelled',
      `${merged.unlabelled} of ${merged.lines.length} labels could not be obtained, which is more than ${100 * maxUnlabelled} %: read the lines with label null in ${labels.key} and use a stronger analyst model, or raise identify.maxUnlabelled.`,
    );
  }
  const thresholds = { minGap, minCoverage };
  const contrasts = candidates.map((candidate, i) => contrast(candidate.id, merged.counts[i] ?? noCounts(merged.failures), thresholds));
  const kept = rankKept(contrasts);
  const discovery = await RecordedCalls.open(store, context.runId, DISCOVERY_WORK);
  const spent = sumCalls(discovery.records);
  await discovery.close();
  const usage = {
    promptTokens: spent.promptTokens + totals.promptTokens,
    completionTokens: spent.completionTokens + totals.completionTokens,
    cachedTokens: spent.cachedTokens + totals.cachedTokens,
  };
  const identification: Identification = {
    candidates,
    contrasts,
    kept,
    thresholds,
    calls: { discovery: input.discoveryCalls, label: totals.asked, reused: totals.reused, unlabelled: merged.unlabelled },
    usage,
    analyst: prepared.analyst.displayName,
    ...plantedOf(prepared, kept, candidates, merged),
  };
  const ref = await putJson(store, layout.capabilities(context.runId), 'identification.json', identification);
  const briefs = kept.flatMap((id) => candidates.filter((c) => c.id === id).map(({ name, summary }) => ({ id, name, summary })));
  const tokens: TokenUse[] = [{ stage: 'identify', model: plan.model, promptTokens: usage.promptTokens, completionTokens: usage.completionTokens }];
  return { identification: ref, labels, kept: briefs, candidates: candidates.length, tokens };
}

async function mergeLabels(
  documents: Documents,
  { context }: ContrastInput,
  plan: LabelPlanDocument,
  candidates: readonly Candidate[],
  file: LineFile<Trajectory>,
) {
  const { heartbeat, cancellationSignal } = Context.current();
  const lines: string[] = [];
  const lacking = new Map(candidates.map(({ id }) => [id, new Set<number>()]));
  const truth = new Map<string, Set<number>>();
  const outcomes: boolean[] = [];
  const ids: string[] = [];
  for await (const { id, success, diagnostics } of file) {
    const index = ids.push(id) - 1;
    outcomes.push(success);
    for (const [name, state] of Object.entries(diagnostics)) {
      if (state === 'lacking') truth.set(name, (truth.get(name) ?? new Set()).add(index));
    }
  }
  const failures = outcomes.filter((success) => !success).length;
  const counts = candidates.map(() => noCounts(failures));
  let unlabelled = 0;
  const progress = startProgress({ stage: 'identify', unit: 'merged chunks', total: plan.chunks.length, heartbeat });
  try {
    for (const chunk of plan.chunks) {
      if (cancellationSignal.aborted) throw cancellationSignal.reason;
      const keys = new Map<string, { trajectory: number; capability: number }>();
      for (let t = chunk.from; t < chunk.to; t++) {
        candidates.forEach((candidate, c) => keys.set(labelKey(ids[t] as string, candidate, plan.model, plan.run), { trajectory: t, capability: c }));
      }
      const { labels } = await knownLabels(documents.store, context.agent, plan.model, chunk, context.runId, new Set(keys.keys()));
      for (const [key, { trajectory, capability }] of keys) {
        const record = labels.get(key) ?? missing(ids[trajectory] as string, candidates[capability] as Candidate, key);
        lines.push(`${JSON.stringify(record)}\n`);
        if (record.label === null) unlabelled++;
        if (record.label === 'LACKING') lacking.get(record.capabilityId)?.add(trajectory);
        counts[capability] = countLabel(counts[capability] ?? noCounts(failures), outcomes[trajectory] === true, record.label);
      }
      progress.advance();
    }
  } finally {
    progress.stop();
  }
  return { lines, counts, failures, unlabelled, lacking, truth };
}

/** A label that no chunk has left counts as unlabelled rather than being passed over. */
function missing(trajectoryId: string, capability: Candidate, key: string): LabelRecord {
  return { trajectoryId, capabilityId: capability.id, label: null, step: null, reason: 'No label is in the store.', key };
}

function plantedOf(
  prepared: PreparedSpec,
  kept: readonly string[],
  candidates: readonly Candidate[],
  merged: Awaited<ReturnType<typeof mergeLabels>>,
): Pick<Identification, 'planted'> {
  const { groundTruth } = prepared.spec;
  if (!groundTruth) return {};
  return { planted: comparePlanted({ planted: groundTruth.planted, decoys: groundTruth.decoys, kept, labelled: merged.lacking, truth: merged.truth }) };
}
