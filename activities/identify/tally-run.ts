import { Context } from '@temporalio/activity';
import type { Candidate, LabelRecord } from '../../contracts/artifacts/identification';
import type { TallyInput, TallyResult } from '../../contracts/messages/identify-stage';
import { failure } from '../../contracts/typed-failure';
import { layout, putJson, type DamagedLines } from '../../store';
import { Progress } from '../progress';
import type { IdentifyArtifacts } from './identify-artifacts';
import { LabelCache, labelKey } from './labelling/label-cache';
import { capabilityLabels, readTallies, type TalliedRun, tallySchema } from './labelling/tally';
import { undecidedCandidates } from './verdicts/contrast-candidates';
import { labelCode } from './verdicts/label-codes';
import { verdictRule } from './verdicts/verdict-rule';

/** Number of labels that are added to the index at a time for later runs. Adding all at once would fill the memory. */
const FILED_AT_ONCE = 100_000;

/**
 * Activity: completes one labelling run. It collects the labels from the cache in the order of the plan, writes them
 * and their tally, and finds the candidates that need another run. The artifacts depend only on the labels, not on the
 * order of the questions or the number of attempts.
 * @throws Identify.TooManyUnlabelled above `identify.maxUnlabelled`.
 * @throws Identify.LabelsLost if the store has neither a label nor a refusal for a question of the plan.
 */
export async function tallyRun(artifacts: IdentifyArtifacts, input: TallyInput): Promise<TallyResult> {
  const { context, run: labellingRun } = input;
  const { store } = artifacts;
  const prepared = await artifacts.prepared(context);
  const rule = verdictRule(prepared.spec.identify);
  const candidates = await artifacts.candidates(input.candidates);
  const all = await artifacts.candidates(input.discovered);
  const { ids, outcomes } = await artifacts.outcomes(input.trajectories);
  const { lines, codes, damaged, lost } = await collectLabels(artifacts, input, candidates, ids);
  if (lost > 0) {
    throw failure(
      'Identify.LabelsLost',
      `${lost} of ${codes.length} labels were stored and cannot be read any more` +
        `${damaged.length > 0 ? `: ${damaged.map((lines) => lines.describe()).join(' ')}` : '.'}`,
    );
  }
  const folder = layout.labels(context.runId);
  const labels = await store.put(folder, `labels-run-${labellingRun}.jsonl`, Buffer.concat(lines), {
    mediaType: 'application/jsonl',
    records: codes.length,
  });
  const unlabelled = codes.reduce((n, code) => n + (code === 0 ? 1 : 0), 0);
  const { maxUnlabelled } = prepared.spec.identify;
  if (unlabelled > maxUnlabelled * codes.length) {
    throw failure(
      'Identify.TooManyUnlabelled',
      `${unlabelled} of ${codes.length} labels could not be obtained, which is more than ${100 * maxUnlabelled} %: ` +
        `read the lines with label null in ${labels.key} and use a stronger analyst model, ` +
        'or raise identify.maxUnlabelled.',
    );
  }
  const own: TalliedRun = {
    run: labellingRun,
    labels,
    capabilities: candidates.map(({ id }) => id),
    trajectories: ids.length,
    previous: input.previous,
    codes,
  };
  const tally = await putJson(store, folder, `tally-${labellingRun}.json`, tallySchema.encode(own));
  const runs = [...(await readTallies(store, input.previous)), own];
  const labelled = all.map(({ id }) => ({ id, labels: capabilityLabels(runs, id) }));
  const undecided = labellingRun + 1 < rule.runs ? undecidedCandidates(labelled, outcomes, rule) : [];
  const toLabelNext = all.filter(({ id }) => undecided.includes(id));
  return {
    tally,
    open:
      toLabelNext.length === 0
        ? null
        : await putJson(store, layout.capabilities(context.runId), `open-${labellingRun + 1}.json`, toLabelNext),
    note:
      `labelling run ${labellingRun + 1} of ${rule.runs}: ` +
      `${all.length - undecided.length} of ${all.length} verdicts are final${damageNote(damaged)}`,
  };
}

/**
 * Says which lines of the label cache could not be read; empty if all could be read. Their labels come from the index,
 * or were asked again.
 */
function damageNote(damaged: readonly DamagedLines[]): string {
  const [first] = damaged;
  if (first === undefined) return '';
  const lines = damaged.reduce((sum, { count }) => sum + count, 0);
  const more = damaged.length > 1 ? ` and ${damaged.length - 1} other files` : '';
  return `; ${lines} damaged ${lines === 1 ? 'line' : 'lines'} of the label cache set aside (${first.key}${more})`;
}

/** The labels of one labelling run, trajectory by trajectory: as lines of JSON and as codes. */
async function collectLabels(
  artifacts: IdentifyArtifacts,
  { context, plan: { plan: planRef } }: TallyInput,
  candidates: readonly Candidate[],
  ids: readonly string[],
) {
  const { cancellationSignal } = Context.current();
  const plan = await artifacts.plan(planRef);
  const codes = new Uint8Array(ids.length * candidates.length);
  // Bytes instead of strings, because hundreds of thousands of strings would keep the garbage collector busy.
  const lines: Buffer[] = [];
  const cache = new LabelCache(artifacts.store, context.agent, plan.model);
  let paidFor: LabelRecord[] = [];
  const damagedBySegment = new Map<string, DamagedLines>();
  let lost = 0;
  using progress = new Progress({ stage: 'identify', unit: 'merged chunks', total: plan.chunks.length });
  for (const chunk of plan.chunks) {
    if (cancellationSignal.aborted) throw cancellationSignal.reason;
    const wanted: { key: string; id: string; index: number }[] = [];
    for (let t = chunk.from; t < chunk.to; t++) {
      candidates.forEach((candidate, c) => {
        const id = ids[t] as string;
        wanted.push({ key: labelKey(id, candidate, plan.model, plan.run), id, index: t * candidates.length + c });
      });
    }
    const { labels, own, damaged } = await cache.known(
      chunk,
      context.runId,
      new Map(wanted.map(({ key, id }) => [key, id])),
      cancellationSignal,
    );
    paidFor.push(...own.map(({ label }) => label));
    if (paidFor.length >= FILED_AT_ONCE) {
      await cache.index(cancellationSignal).file(paidFor);
      paidFor = [];
    }
    for (const lines of damaged) damagedBySegment.set(lines.key, lines);
    const records = wanted.map(({ key, index }) => {
      const found = labels.get(key);
      if (found === undefined) lost++;
      codes[index] = labelCode(found?.label ?? null);
      return `${JSON.stringify(found)}\n`;
    });
    lines.push(Buffer.from(records.join('')));
    progress.advance();
  }
  progress.setNote('making the labels findable for later runs');
  await cache.index(cancellationSignal).file(paidFor);
  return { lines, codes, damaged: [...damagedBySegment.values()], lost };
}
