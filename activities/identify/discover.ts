import { Context } from '@temporalio/activity';
import { z } from 'zod';
import { type Dictionary, dictionarySchema } from '../../contracts/artifacts/dictionary';
import { type Merge, mergeSchema } from '../../contracts/artifacts/identification';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import type { DiscoveryResult, IdentifyInput } from '../../contracts/messages/identify-stage';
import type { RunContext } from '../../contracts/messages/run-context';
import { contentKey, type Analyst } from '../../llm';
import { layout, putJson, readDictionary, type ArtifactStore, type LineFile } from '../../store';
import { RecordedCalls, sumCalls } from '../analyst/recorded-calls';
import { startProgress } from '../progress';
import { discoveryBatches, poolCandidates, selectCandidates, type PooledCandidate } from './candidates';
import type { Documents } from './documents';
import { mergeCandidates } from './merge-candidates';
import { DISCOVER_PROMPT_VERSION, discoverAnswerSchema, discoverMessages } from './prompts/discover';
import { MERGE_PROMPT_VERSION, mergeAnswerSchema, mergeMessages } from './prompts/merge';

/** Name of the segment with the discovery calls of a run. */
export const DISCOVERY_WORK = 'analyst-discover';

/** What discovery found beside the candidates. */
export const discoveryDetailSchema = z.strictObject({
  merges: z.array(mergeSchema),
  /** The agent's dictionary before this run; statuses are relative to it. */
  dictionary: dictionarySchema,
});
export type DiscoveryDetail = z.infer<typeof discoveryDetailSchema>;

/**
 * Names candidate capabilities from batches of failures and the dictionary of earlier runs. The batches go one after
 * the other, since each is shown what was named before: that keeps one capability from getting a name per batch. What
 * got two names all the same is merged in one more call. Answers are kept in a segment, so that a retry pays for none
 * twice.
 */
export async function discoverCandidates(
  documents: Documents,
  { context, collected, independent }: IdentifyInput,
): Promise<DiscoveryResult> {
  const { heartbeat, cancellationSignal: signal } = Context.current();
  const { store } = documents;
  const prepared = await documents.prepared(context);
  const analyst = documents.analyst(prepared, context);
  const { discoveryBatches: batches, batchSize, maxCandidates } = prepared.spec.identify;
  const file = await documents.trajectories(collected.trajectories);
  const chosen = discoveryBatches(await failedOf(file), context.seed, batches, batchSize);
  const dictionary: Dictionary = independent
    ? { agent: context.agent, entries: [] }
    : await frozenDictionary(store, context);
  const calls = await RecordedCalls.open(store, context.runId, DISCOVERY_WORK);
  const progress = startProgress({ stage: 'identify', unit: 'discovery calls', total: chosen.length, heartbeat });
  try {
    let pool = knownCandidates(dictionary);
    for (const batch of chosen) {
      const messages = discoverMessages(
        batch.map(({ index }) => file.at(index)),
        pool,
      );
      const key = contentKey('discover', DISCOVER_PROMPT_VERSION, analyst.model, JSON.stringify(messages));
      const { value } = await calls.ask(analyst, {
        kind: 'discover',
        key,
        messages,
        schema: discoverAnswerSchema,
        signal,
      });
      pool = poolCandidates(
        pool,
        value,
        batch.map(({ id }) => id),
      );
      progress.advance();
    }
    // What a single call named, it was told to keep apart.
    const merged =
      chosen.length > 1 || dictionary.entries.length > 0
        ? await mergePool(analyst, calls, pool, signal)
        : { pool, merges: [] };
    const inState = (state: string) => dictionary.entries.filter((entry) => entry.state === state).map(({ id }) => id);
    const candidates = selectCandidates(merged.pool, maxCandidates, inState('lacking'), inState('fixed'));
    const detail: DiscoveryDetail = { merges: merged.merges, dictionary };
    const directory = layout.capabilities(context.runId);
    return {
      candidates: await putJson(store, directory, 'candidates.json', candidates),
      detail: await putJson(store, directory, 'discovery.json', detail),
      count: candidates.length,
      calls: sumCalls(calls.records).asks,
    };
  } finally {
    progress.stop();
    await calls.close();
    await analyst.flushUsage();
  }
}

/**
 * The agent's dictionary as this run first saw it: a retry asks the same questions, whatever other runs have found
 * since.
 */
async function frozenDictionary(store: ArtifactStore, { agent, runId }: RunContext): Promise<Dictionary> {
  const key = `${layout.run(runId)}/work/dictionary.json`;
  const frozen = await store.readDocument(key);
  if (frozen) return dictionarySchema.parse(frozen.value);
  const dictionary = await readDictionary(store, agent);
  await store.swapDocument(key, dictionary, null);
  return dictionary;
}

/** Capabilities of earlier runs, in the order of the dictionary; the pool that discovery begins with. */
function knownCandidates({ entries }: Dictionary): PooledCandidate[] {
  return entries.map(({ id, name, summary, description }) => ({
    id,
    name,
    summary,
    description,
    episodes: [],
    known: true,
  }));
}

async function mergePool(analyst: Analyst, calls: RecordedCalls, pool: PooledCandidate[], signal: AbortSignal) {
  // Known ones were told apart before; there is something to merge only where something new came.
  if (pool.length < 2 || pool.every(({ known }) => known)) return { pool, merges: [] as Merge[] };
  const messages = mergeMessages(pool);
  const key = contentKey('merge', MERGE_PROMPT_VERSION, analyst.model, JSON.stringify(messages));
  const { value } = await calls.ask(analyst, { kind: 'merge', key, messages, schema: mergeAnswerSchema, signal });
  return mergeCandidates(pool, value);
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
