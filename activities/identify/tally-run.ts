import { Context } from '@temporalio/activity';
import type { Candidate, LabelRecord } from '../../contracts/artifacts/identification';
import type { TallyInput, TallyResult } from '../../contracts/messages/identify-stage';
import { failure } from '../../contracts/typed-failure';
import { layout, putJson } from '../../store';
import { startProgress } from '../progress';
import { undecided } from './contrast';
import type { Documents } from './documents';
import { identifyRule } from './identify-rule';
import { knownLabels, labelKey } from './label-store';
import { labelCode, outcomesOf } from './statistics/label-table';
import { labelsOf, readTallies, tallyDocument, type TalliedRun } from './tally-store';

/**
 * Merges the labels of one labelling run in the order of the plan, and judges with all runs so far which candidates
 * need another one. What the artifacts hold follows from the labels alone, in whatever order and by however many
 * attempts they were asked. Throws Identify.TooManyUnlabelled.
 */
export async function tallyRun(documents: Documents, input: TallyInput): Promise<TallyResult> {
  const { context, run } = input;
  const { store } = documents;
  const prepared = await documents.prepared(context);
  const rule = identifyRule(prepared.spec.identify);
  const candidates = await documents.candidates(input.candidates);
  const all = await documents.candidates(input.discovered);
  const file = await documents.trajectories(input.trajectories);
  const ids: string[] = [];
  const seen: { success: boolean; task: number }[] = [];
  for await (const { id, success, task } of file) {
    ids.push(id);
    seen.push({ success, task: task.seed });
  }
  const { lines, codes } = await mergeLabels(documents, input, candidates, ids);
  const labels = await store.put(layout.labels(context.runId), `labels-run-${run}.jsonl`, Buffer.concat(lines), {
    mediaType: 'application/jsonl',
    records: codes.length,
  });
  const unlabelled = codes.reduce((n, code) => n + (code === 0 ? 1 : 0), 0);
  const { maxUnlabelled } = prepared.spec.identify;
  if (unlabelled > maxUnlabelled * codes.length) {
    throw failure(
      'Identify.TooManyUnlabelled',
      `${unlabelled} of ${codes.length} labels could not be obtained, which is more than ${100 * maxUnlabelled} %: read the lines with label null in ${labels.key} and use a stronger analyst model, or raise identify.maxUnlabelled.`,
    );
  }
  const own: TalliedRun = {
    run,
    labels,
    capabilities: candidates.map(({ id }) => id),
    trajectories: ids.length,
    codes,
  };
  const tally = await putJson(
    store,
    layout.labels(context.runId),
    `tally-${run}.json`,
    tallyDocument(own, input.previous),
  );
  const runs = [...(await readTallies(store, input.previous)), own];
  const labelled = all.map(({ id }) => ({ id, labels: labelsOf(runs, id) }));
  const open = run + 1 < rule.runs ? undecided(labelled, outcomesOf(seen), rule) : [];
  const next = all.filter(({ id }) => open.includes(id));
  return {
    tally,
    open:
      next.length === 0 ? null : await putJson(store, layout.capabilities(context.runId), `open-${run + 1}.json`, next),
    note: `labelling run ${run + 1} of ${rule.runs}: ${all.length - open.length} of ${all.length} verdicts are final`,
  };
}

/** Lines and codes of a run, trajectory by trajectory. */
async function mergeLabels(
  documents: Documents,
  { context, plan: { plan: planRef } }: TallyInput,
  candidates: readonly Candidate[],
  ids: readonly string[],
) {
  const { heartbeat, cancellationSignal } = Context.current();
  const plan = await documents.plan(planRef);
  const codes = new Uint8Array(ids.length * candidates.length);
  // Kept as bytes: hundreds of thousands of lines are no load for the collector then.
  const lines: Buffer[] = [];
  const progress = startProgress({ stage: 'identify', unit: 'merged chunks', total: plan.chunks.length, heartbeat });
  try {
    for (const chunk of plan.chunks) {
      if (cancellationSignal.aborted) throw cancellationSignal.reason;
      const wanted: { key: string; record: LabelRecord; index: number }[] = [];
      for (let t = chunk.from; t < chunk.to; t++) {
        candidates.forEach((candidate, c) => {
          const key = labelKey(ids[t] as string, candidate, plan.model, plan.run);
          wanted.push({ key, record: missing(ids[t] as string, candidate, key), index: t * candidates.length + c });
        });
      }
      const { labels } = await knownLabels(
        documents.store,
        context.agent,
        plan.model,
        chunk,
        context.runId,
        new Set(wanted.map(({ key }) => key)),
      );
      const records = wanted.map(({ key, record, index }) => {
        const found = labels.get(key) ?? record;
        codes[index] = labelCode(found.label);
        return `${JSON.stringify(found)}\n`;
      });
      lines.push(Buffer.from(records.join('')));
      progress.advance();
    }
  } finally {
    progress.stop();
  }
  return { lines, codes };
}

/** A label that no chunk has left counts as unlabelled rather than being passed over. */
function missing(trajectoryId: string, capability: Candidate, key: string): LabelRecord {
  return {
    trajectoryId,
    capabilityId: capability.id,
    label: null,
    step: null,
    reason: 'No label is in the store.',
    key,
  };
}
