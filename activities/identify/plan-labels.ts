import { Context } from '@temporalio/activity';
import type { LabelPlan, PlanLabelsInput } from '../../contracts';
import { contentKey } from '../../llm';
import { layout } from '../../store';
import { startProgress } from '../progress';
import type { Documents } from './documents';
import { labelKey, labelSources, type Chunk, type LabelPlanDocument } from './label-store';
import { LABEL_PROMPT_VERSION } from './prompts/label';

/**
 * Cuts trajectories x candidates of one labelling run into chunks of about `identify.chunkCalls` labels; a trajectory's candidates stay together. Says for
 * each chunk where earlier runs have left labels of it.
 */
export async function planLabels(documents: Documents, { context, collected, candidates: candidatesRef, run }: PlanLabelsInput): Promise<LabelPlan> {
  const prepared = await documents.prepared(context);
  const { model } = documents.analyst(prepared);
  const candidates = await documents.candidates(candidatesRef);
  const file = await documents.trajectories(collected.trajectories);
  const perChunk = Math.max(1, Math.floor(prepared.spec.identify.chunkCalls / Math.max(1, candidates.length)));
  const keysOf: string[][] = [];
  const progress = startProgress({ stage: 'identify', unit: 'planned labels', total: candidates.length * file.length, heartbeat: Context.current().heartbeat });
  try {
    let index = 0;
    for await (const { id } of file) {
      if (index++ % perChunk === 0) keysOf.push([]);
      keysOf.at(-1)?.push(...candidates.map((capability) => labelKey(id, capability, model, run)));
      progress.advance(candidates.length);
    }
    const sources = await labelSources(documents.store, context.agent, model, new Set(keysOf.flat()));
    const chunks = keysOf.map((keys, i): Chunk => {
      const from = i * perChunk;
      return {
        from,
        to: Math.min(from + perChunk, file.length),
        hash: contentKey(...keys),
        sources: [...new Set(keys.flatMap((key) => sources.get(key) ?? []))].sort(),
      };
    });
    const plan: LabelPlanDocument = { promptVersion: LABEL_PROMPT_VERSION, model, run, chunks: candidates.length === 0 ? [] : chunks };
    const ref = await documents.store.put(layout.labels(context.runId), `plan-${run}.json`, JSON.stringify(plan), { records: plan.chunks.length });
    return { plan: ref, chunks: plan.chunks.length, calls: candidates.length * file.length };
  } finally {
    progress.stop();
  }
}
