import { Context } from '@temporalio/activity';
import { z } from 'zod';
import { type Dictionary, dictionarySchema } from '../../contracts/artifacts/dictionary';
import { type Merge, mergeSchema } from '../../contracts/artifacts/identification';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import type { DiscoveryResult, IdentifyInput } from '../../contracts/messages/identify-stage';
import type { Repetition } from '../../contracts/messages/repair';
import type { RunContext } from '../../contracts/messages/run-context';
import { startOf } from '../../contracts/clean-text';
import { contentKey } from '../../llm';
import { changeDocument, layout, putJson, readDictionary, type ArtifactStore, type StoredLines } from '../../store';
import { RecordedCalls, sumCalls } from '../analyst/recorded-calls';
import { wordsOf } from '../environment-checks/words';
import { Progress } from '../progress';
import { discoveryBatches, poolCandidates, selectCandidates, type PooledCandidate } from './discovery/candidate-pool';
import { mergeCandidates } from './discovery/merge-candidates';
import { type ShownEpisode, withSimilarSuccesses } from './discovery/similar-successes';
import { withEarlierNights } from './earlier-nights';
import type { IdentifyArtifacts } from './identify-artifacts';
import { DISCOVER_PROMPT_VERSION, discoverAnswerSchema, discoverMessages } from './prompts/discover';
import { MERGE_PROMPT_VERSION, mergeAnswerSchema, mergeMessages } from './prompts/merge';

/** Name of the segment with the discovery calls of an improvement run, or of the night at its beginning. */
export const discoveryWork = (measures: boolean): string => (measures ? 'analyst-discover-served' : 'analyst-discover');

/** The artifact of discovery; the candidates are stored separately. */
export const discoveryDetailSchema = z.strictObject({
  merges: z.array(mergeSchema),
  /** The agent's dictionary before this run; statuses are relative to it. */
  dictionary: dictionarySchema,
});
type DiscoveryDetail = z.infer<typeof discoveryDetailSchema>;

/**
 * Activity: asks the analyst for candidate capabilities. They come from batches of failures, with a few successes of
 * similar tasks, and from the dictionary of earlier runs. The batches go one after the other, because each sees the
 * earlier names. Otherwise one capability would get another name in each batch. If several batches gave new names, one
 * more call merges names with the same meaning. Answers are written to a segment, so that a retry does not pay again.
 */
export async function discoverCandidates(
  artifacts: IdentifyArtifacts,
  { context, collected, independent, measures: measured }: IdentifyInput,
  repetition?: Repetition,
): Promise<DiscoveryResult> {
  const { cancellationSignal: signal } = Context.current();
  const { store } = artifacts;
  const measures = measured === true;
  const prepared = await artifacts.prepared(context);
  const analyst = artifacts.analyst(prepared, context);
  const { discoveryBatches: batches, batchSize, maxCandidates } = prepared.spec.identify;
  const file = await artifacts.trajectories(collected.trajectories);
  const episodes = await readEpisodes(file);
  const chosen = discoveryBatches(
    episodes.filter(({ success }) => !success),
    context.seed,
    batches,
    batchSize,
  );
  const successes = comparedSuccesses(episodes, context.seed);
  const dictionary: Dictionary = independent
    ? { agent: context.agent, entries: [] }
    : await frozenDictionary(store, context, measures);
  const setNote = (note: string | undefined) => progress.setNote(note);
  await using calls = await RecordedCalls.open(store, context.runId, discoveryWork(measures), {
    analyst,
    attempts: artifacts.attempts,
    signal,
    setNote,
    repetition,
  });
  using progress = new Progress({ stage: 'identify', unit: 'discovery calls', total: chosen.length });
  let pool = knownCandidates(dictionary);
  let naming = 0;
  for (const failures of chosen) {
    const batch = withSimilarSuccesses(failures, successes);
    const messages = discoverMessages(await Promise.all(batch.map(({ index }) => file.at(index))), pool);
    const key = contentKey('discover', DISCOVER_PROMPT_VERSION, analyst.model, JSON.stringify(messages));
    const { value } = await calls.ask({ kind: 'discover', key, messages, schema: discoverAnswerSchema });
    const named = poolCandidates(pool, value, batch);
    if (named.length > pool.length) naming++;
    pool = named;
    progress.advance();
  }
  // The prompt of a single call asks for names that differ in meaning, so there is nothing to merge.
  const merged =
    naming > 1 || dictionary.entries.length > 0 ? await mergePool(analyst.model, calls, pool) : { pool, merges: [] };
  const inState = (state: string) => dictionary.entries.filter((entry) => entry.state === state).map(({ id }) => id);
  const candidates = selectCandidates(merged.pool, maxCandidates, inState('lacking'), inState('fixed'));
  const detail: DiscoveryDetail = { merges: merged.merges, dictionary };
  const directory = layout.capabilities(context.runId);
  const pooled = measures ? await withEarlierNights(store, context, collected) : null;
  return {
    candidates: await putJson(store, directory, 'candidates.json', candidates),
    detail: await putJson(store, directory, 'discovery.json', detail),
    count: candidates.length,
    calls: sumCalls(calls.records).asks,
    ...(pooled !== null && { pooled }),
  };
}

/**
 * The agent's dictionary as this improvement run first read it. So a retry asks the same questions, whatever other runs
 * have found since. The identification on base also uses the findings of the night's identification.
 */
async function frozenDictionary(
  store: ArtifactStore,
  { agent, runId }: RunContext,
  measures: boolean,
): Promise<Dictionary> {
  const key = `${layout.run(runId)}/work/${measures ? 'served-dictionary' : 'dictionary'}.json`;
  const dictionary = await readDictionary(store, agent);
  return changeDocument(store, key, (frozen) =>
    frozen === undefined ? { value: dictionary, result: dictionary } : { result: dictionarySchema.parse(frozen) },
  );
}

/** The pool at the beginning of discovery: capabilities of earlier runs, in the order of the dictionary. */
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

async function mergePool(model: string, calls: RecordedCalls, pool: PooledCandidate[]) {
  // Earlier runs have already compared the known capabilities with each other.
  if (pool.length < 2 || pool.every(({ known }) => known)) return { pool, merges: [] as Merge[] };
  const messages = mergeMessages(pool);
  const key = contentKey('merge', MERGE_PROMPT_VERSION, model, JSON.stringify(messages));
  const { value } = await calls.ask({ kind: 'merge', key, messages, schema: mergeAnswerSchema });
  return mergeCandidates(pool, value);
}

/** Largest number of successes among which discovery looks for those that resemble failures. */
const MOST_SUCCESSES = 300;
/** The words of an opening are read from so many of its first characters. */
const OPENING_CHARS = 4_000;

/**
 * What discovery has to know of every episode. The trajectories themselves are parsed again when their batch is needed,
 * so that they are not all held in memory.
 */
async function readEpisodes(file: StoredLines<Trajectory>): Promise<ShownEpisode[]> {
  const episodes: ShownEpisode[] = [];
  for await (const { id, success, task, messages } of file) {
    const opening = messages.find(({ role }) => role === 'user')?.content ?? '';
    const words = new Set(wordsOf(startOf(opening, OPENING_CHARS)));
    episodes.push({ id, index: episodes.length, task: task.seed, success, opening: words });
  }
  return episodes;
}

/** A sample of the successes that depends only on the seed and the ids. */
const comparedSuccesses = (episodes: readonly ShownEpisode[], seed: number): ShownEpisode[] =>
  episodes
    .filter(({ success }) => success)
    .map((episode) => ({ episode, rank: contentKey('discovery-success', String(seed), episode.id) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, MOST_SUCCESSES)
    .map(({ episode }) => episode);
