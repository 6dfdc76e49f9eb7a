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
  const analyst = documents.analyst(prepared);
  const { discoveryBatches: batches, batchSize, maxCandidates } = prepared.spec.identify;
  const failures = failedOf(await documents.trajectories(collected.trajectories));
  const chosen = discoveryBatches(failures.ids, context.seed, batches, batchSize);
  const calls = await RecordedCalls.open(documents.store, context.runId, DISCOVERY_WORK);
  const progress = startProgress({ stage: 'identify', unit: 'discovery calls', total: chosen.length, heartbeat });
  try {
    let pool: PooledCandidate[] = [];
    for (const batch of chosen) {
      const messages = discoverMessages(
        batch.map(({ index }) => failures.file.at(index)),
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
  }
}

/** Indices of the failed trajectories; they are parsed again when their batch is shown, so that not all are held at once. */
function failedOf(file: LineFile<Trajectory>) {
  const ids: { id: string; index: number }[] = [];
  for (let index = 0; index < file.length; index++) {
    const { id, success } = file.at(index);
    if (!success) ids.push({ id, index });
  }
  return { file, ids };
}
