import type { DiscoveryResult, IdentifyInput, LabelPlan } from '../../contracts';
import { contentKey } from '../../llm';
import { layout } from '../../store';
import type { Documents } from './documents';
import { labelKey, labelSources, type Chunk, type LabelPlanDocument } from './label-store';
import { LABEL_PROMPT_VERSION } from './prompts/label';

/**
 * Cuts trajectories x candidates into chunks of about `identify.chunkCalls` labels; a trajectory's candidates stay together. Says for
 * each chunk where earlier runs have left labels of it.
 */
export async function planLabels(
  documents: Documents,
  { context, collected, candidates: discovery }: IdentifyInput & { candidates: DiscoveryResult },
): Promise<LabelPlan> {
  const prepared = await documents.prepared(context);
  const { model } = documents.analyst(prepared);
  const candidates = await documents.candidates(discovery.candidates);
  const file = await documents.trajectories(collected.trajectories);
  const chunks: Chunk[] = [];
  const keysOf: string[][] = [];
  if (candidates.length > 0) {
    const perChunk = Math.max(1, Math.floor(prepared.spec.identify.chunkCalls / candidates.length));
    for (let from = 0; from < file.length; from += perChunk) {
      const to = Math.min(from + perChunk, file.length);
      const keys: string[] = [];
      for (let t = from; t < to; t++) {
        const { id } = file.at(t);
        for (const capability of candidates) keys.push(labelKey(id, capability, model));
      }
      keysOf.push(keys);
      chunks.push({ from, to, hash: contentKey(...keys), sources: [] });
    }
  }
  const sources = await labelSources(documents.store, context.agent, model, new Set(keysOf.flat()));
  chunks.forEach((chunk, i) => {
    chunk.sources = [...new Set((keysOf[i] ?? []).flatMap((key) => sources.get(key) ?? []))].sort();
  });
  const plan: LabelPlanDocument = { promptVersion: LABEL_PROMPT_VERSION, model, chunks };
  const ref = await documents.store.put(layout.labels(context.runId), 'plan.json', JSON.stringify(plan), { records: chunks.length });
  return { plan: ref, chunks: chunks.length, calls: candidates.length * file.length };
}
