import { Context } from '@temporalio/activity';
import type { DiscoveryResult, IdentifyInput, Trajectory } from '../../contracts';
import { contentKey } from '../../llm';
import { layout, putJson, type LineFile } from '../../store';
import { RecordedCalls, sumCalls } from '../analyst-calls';
import { startProgress } from '../progress';
import { discoveryBatches, poolCandidates, selectCandidates, type PooledCandidate } from './candidates';
import type { Documents } from './documents';
import { DISCOVER_PROMPT_VERSION, discoverAnswerSchema, discoverMessages } from './prompts/discover';

/** Name of the segment with the discovery calls of a run. */
export const DISCOVERY_WORK = 'analyst-discover';

/**
 * Names candidate capabilities from batches of failures. The batches go one after the other, since each is shown what those before it
 * named: that keeps one capability from getting a name per batch. Answers are kept in a segment, so that a retry pays for none twice.
 */
export async function discoverCandidates(documents: Documents, { context, collected }: IdentifyInput): Promise<DiscoveryResult> {
  const { heartbeat, cancellationSignal: signal } = Context.current();
  const prepared = await documents.prepared(context);
  const analyst = documents.analyst(prepared, context);
  const { discoveryBatches: batches, batchSize, maxCandidates } = prepared.spec.identify;
  const file = await documents.trajectories(collected.trajectories);
  const chosen = discoveryBatches(await failedOf(file), context.seed, batches, batchSize);
  const calls = await RecordedCalls.open(documents.store, context.runId, DISCOVERY_WORK);
  const progress = startProgress({ stage: 'identify', unit: 'discovery calls', total: chosen.length, heartbeat });
  try {
    let pool: PooledCandidate[] = [];
    for (const batch of chosen) {
      const messages = discoverMessages(
        batch.map(({ index }) => file.at(index)),
        pool,
      );
      const key = contentKey('discover', DISCOVER_PROMPT_VERSION, analyst.model, JSON.stringify(messages));
      const { value } = await calls.ask(analyst, { kind: 'discover', key, messages, schema: discoverAnswerSchema, signal });
      pool = poolCandidates(pool, value, batch.length);
      progress.advance();
    }
    const candidates = selectCandidates(pool, maxCandidates);
    const ref = await putJson(documents.store, layout.capabilities(context.runId), 'candidates.json', candidates);
    return { candidates: ref, count: candidates.length, calls: sumCalls(calls.records).asks };
  } finally {
    progress.stop();
    await calls.close();
    await analyst.settle();
  }
}

/** Ids and indices of the failures; a batch is parsed again when it is shown, so that not all are held at once. */
async function failedOf(file: LineFile<Trajectory>): Promise<{ id: string; index: number }[]> {
  const failed: { id: string; index: number }[] = [];
  let index = 0;
  for await (const { id, success } of file) {
    if (!success) failed.push({ id, index });
    index++;
  }
  return failed;
}
