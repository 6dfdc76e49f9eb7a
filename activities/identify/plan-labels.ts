import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { z } from 'zod';
import type { Candidate } from '../../contracts/artifacts/identification';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { LabelPlan, PlanLabelsInput } from '../../contracts/messages/identify-stage';
import type { Repetition } from '../../contracts/messages/repair';
import { contentKey } from '../../llm';
import { layout } from '../../store';
import { Progress } from '../progress';
import type { IdentifyArtifacts } from './identify-artifacts';
import { writeFoundLabels } from './labelling/found-labels';
import { LabelCache, labelKey, labelSetName } from './labelling/label-cache';
import { type Chunk, labelPlaceSchema, type LabelPlanDocument } from './labelling/label-plan';
import { LABEL_PROMPT_VERSION } from '../label-prompt/label-messages';

/**
 * Number of chunks in flight beyond those that use the analyst's concurrency: they bridge the time until the next one
 * starts.
 */
const SPARE_CHUNKS = 3;

/** For each chunk: the sources of the plan's first version. */
const sourcesSchema = z.array(z.array(labelPlaceSchema));

/** Planning needs only the id of a trajectory. */
const idSchema = trajectorySchema.pick({ id: true }).strip();

/**
 * Activity: cuts one labelling run (trajectories x candidates) into chunks of about `identify.chunkCalls` labels. All
 * candidates of a trajectory are in the same chunk. For each chunk the plan has the place of its trajectories in the
 * file, and the places of labels that earlier improvement runs have paid for. The file is read as a stream, so memory
 * grows with the number of trajectories, not with their length. Planning reads only the part of the label cache about
 * these trajectories.
 */
export async function planLabels(
  artifacts: IdentifyArtifacts,
  { context, collected, candidates: candidatesRef, run: labellingRun, measures }: PlanLabelsInput,
  repetition?: Repetition,
): Promise<LabelPlan> {
  const { store } = artifacts;
  const prepared = await artifacts.prepared(context);
  const { model } = artifacts.analyst(prepared, context);
  const candidates = await artifacts.candidates(candidatesRef);
  const perChunk = Math.max(1, Math.floor(prepared.spec.identify.chunkCalls / Math.max(1, candidates.length)));
  const keyOf = (id: string) => (capability: Candidate) => labelKey(id, capability, model, labellingRun);
  // A repeated planning would find this plan's own labels in the cache and give another plan. So the first sources are
  // kept.
  const sourcesOf = measures ? layout.servedLabelSources : layout.labelSources;
  const sourcesKey = sourcesOf(context.runId, labellingRun);
  const frozen = (await store.readDocument(sourcesKey))?.value;
  const total = candidates.length * (collected.trajectories.records ?? collected.episodes);
  const { cancellationSignal: signal } = Context.current();
  using progress = new Progress({ stage: 'identify', unit: 'planned labels', total });
  const chunks: Chunk[] = [];
  const idsOf: string[][] = [];
  let [ids, keys, range] = [[] as string[], [] as string[], createHash('sha256')];
  let [index, start] = [0, 0];
  const finish = (end: number) => {
    chunks.push({
      from: chunks.at(-1)?.to ?? 0,
      to: index,
      hash: contentKey(...keys),
      set: labelSetName(ids, labellingRun),
      bytes: { start, end, sha256: range.digest('hex') },
      sources: [],
    });
    idsOf.push(ids);
    [ids, keys, range, start] = [[], [], createHash('sha256'), end];
  };
  let last = 0;
  for await (const { line, end } of store.lines(collected.trajectories)) {
    const { id } = idSchema.parse(JSON.parse(line.toString('utf8')));
    ids.push(id);
    keys.push(...candidates.map(keyOf(id)));
    range.update(line);
    last = end;
    if (++index % perChunk === 0) finish(end);
    progress.advance(candidates.length);
  }
  if (keys.length > 0) finish(last);
  if (frozen !== undefined) {
    sourcesSchema.parse(frozen).forEach((sources, i) => Object.assign(chunks[i] ?? {}, { sources }));
  } else if (repetition === undefined) {
    const index = new LabelCache(store, context.agent, model).index(signal);
    const onBuild = () => progress.setNote('building the index of the labels of earlier runs, once');
    const keysOf = (id: string) => candidates.map(keyOf(id));
    const places = await writeFoundLabels({ store, context, labellingRun, index, onBuild, keysOf }, idsOf);
    places.forEach((place, i) => Object.assign(chunks[i] ?? {}, { sources: place === null ? [] : [place] }));
    const sources = chunks.map((chunk) => chunk.sources);
    if (sources.flat().length > 0) await store.swapDocument(sourcesKey, sources, null);
  }
  const plan: LabelPlanDocument = {
    promptVersion: LABEL_PROMPT_VERSION,
    model,
    run: labellingRun,
    chunks: candidates.length === 0 ? [] : chunks,
  };
  const ref = await store.put(layout.labels(context.runId), `plan-${labellingRun}.json`, JSON.stringify(plan), {
    records: plan.chunks.length,
  });
  const window =
    Math.ceil(prepared.spec.analyst.concurrency / (perChunk * Math.max(1, candidates.length))) + SPARE_CHUNKS;
  return { plan: ref, chunks: plan.chunks.length, calls: candidates.length * index, window };
}
