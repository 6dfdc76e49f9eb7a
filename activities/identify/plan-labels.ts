import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { Candidate } from '../../contracts/artifacts/identification';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { LabelPlan, PlanLabelsInput } from '../../contracts/messages/identify-stage';
import { contentKey } from '../../llm';
import { layout } from '../../store';
import { startProgress } from '../progress';
import type { Documents } from './documents';
import { hasLabels, labelKey, labelSources, type Chunk, type LabelPlanDocument } from './label-store';
import { LABEL_PROMPT_VERSION } from './prompts/label';

/**
 * Chunks in flight beyond those that are being answered, so that the analyst has work while the server hands out the
 * next.
 */
const SPARE_CHUNKS = 3;

/** Only the name of a trajectory is needed here. */
const namedSchema = trajectorySchema.pick({ id: true }).strip();

/**
 * Cuts trajectories x candidates of one labelling run into chunks of about `identify.chunkCalls` labels; a trajectory's
 * candidates stay together. Says for each chunk where its trajectories lie in the file, and where earlier runs have
 * left labels of it. Reads the file as a stream: what is held grows with the labels, not with the trajectories.
 */
export async function planLabels(
  documents: Documents,
  { context, collected, candidates: candidatesRef, run }: PlanLabelsInput,
): Promise<LabelPlan> {
  const { store } = documents;
  const prepared = await documents.prepared(context);
  const { model } = documents.analyst(prepared, context);
  const candidates = await documents.candidates(candidatesRef);
  const perChunk = Math.max(1, Math.floor(prepared.spec.identify.chunkCalls / Math.max(1, candidates.length)));
  const keyOf = (id: string) => (capability: Candidate) => labelKey(id, capability, model, run);
  const remember = await hasLabels(store, context.agent, model);
  const total = candidates.length * (collected.trajectories.records ?? collected.episodes);
  const progress = startProgress({
    stage: 'identify',
    unit: 'planned labels',
    total,
    heartbeat: Context.current().heartbeat,
  });
  try {
    const chunks: Chunk[] = [];
    const keysOf: string[][] = [];
    let [keys, range] = [[] as string[], createHash('sha256')];
    let [index, start] = [0, 0];
    const finish = (end: number) => {
      chunks.push({
        from: chunks.at(-1)?.to ?? 0,
        to: index,
        hash: contentKey(...keys),
        bytes: { start, end, sha256: range.digest('hex') },
        sources: [],
      });
      if (remember) keysOf.push(keys);
      [keys, range, start] = [[], createHash('sha256'), end];
    };
    let last = 0;
    for await (const { line, end } of store.lines(collected.trajectories)) {
      const { id } = namedSchema.parse(JSON.parse(line.toString('utf8')));
      keys.push(...candidates.map(keyOf(id)));
      range.update(line);
      last = end;
      if (++index % perChunk === 0) finish(end);
      progress.advance(candidates.length);
    }
    if (keys.length > 0) finish(last);
    if (remember) await addSources(documents, context.agent, model, chunks, keysOf);
    const plan: LabelPlanDocument = {
      promptVersion: LABEL_PROMPT_VERSION,
      model,
      run,
      chunks: candidates.length === 0 ? [] : chunks,
    };
    const ref = await store.put(layout.labels(context.runId), `plan-${run}.json`, JSON.stringify(plan), {
      records: plan.chunks.length,
    });
    const window =
      Math.ceil(prepared.spec.analyst.concurrency / (perChunk * Math.max(1, candidates.length))) + SPARE_CHUNKS;
    return { plan: ref, chunks: plan.chunks.length, calls: candidates.length * index, window };
  } finally {
    progress.stop();
  }
}

async function addSources(
  { store }: Documents,
  agent: string,
  model: string,
  chunks: Chunk[],
  keysOf: readonly (readonly string[])[],
): Promise<void> {
  const wanted = new Set<string>();
  for (const keys of keysOf) for (const key of keys) wanted.add(key);
  const sources = await labelSources(store, agent, model, wanted);
  chunks.forEach(
    (chunk, i) => (chunk.sources = [...new Set((keysOf[i] ?? []).flatMap((key) => sources.get(key) ?? []))].sort()),
  );
}
