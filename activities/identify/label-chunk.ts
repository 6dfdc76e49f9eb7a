import { Context } from '@temporalio/activity';
import type { LabelRecord } from '../../contracts/artifacts/identification';
import type { LabelChunkResult, LabelChunksInput } from '../../contracts/messages/identify-stage';
import type { Analyst } from '../../llm';
import { Claim, ClaimLostError, CLAIM_TIMING } from '../analyst/claim';
import { PaidSegment } from '../analyst/paid-segment';
import { sumCalls } from '../analyst/recorded-calls';
import { withWaitingNotes } from '../analyst/waiting-notes';
import { inParallel } from '../in-parallel';
import { Progress } from '../progress';
import type { IdentifyArtifacts } from './identify-artifacts';
import { LabelCache, type KnownLabels, type StoredLabel } from './labelling/label-cache';
import type { Chunk, LabelPlanDocument } from './labelling/label-plan';
import {
  askQuestion,
  episodeCache,
  labelRequest,
  questionsOf,
  storedBatchAnswer,
  withFreshCallKey,
  type Episode,
  type Question,
} from './labelling/label-question';

/** The dependencies of labelling a chunk. */
interface ChunkWork {
  artifacts: IdentifyArtifacts;
  input: Omit<LabelChunksInput, 'cursor' | 'totals'> & { chunk: number };
  cache: LabelCache;
  chunk: Chunk;
  analyst: Analyst;
  batch: boolean;
  concurrency: number;
  questions: readonly Question[];
  episodes: (index: number) => Episode;
  segment: PaidSegment;
  progress: Progress;
  priority: number;
}

/**
 * Activity: labels one chunk of the plan.
 *
 * Each label is written to the chunk's segment before it counts. A retry, or another improvement run of the agent, asks
 * only for missing labels. While another run asks about the same trajectories, this one waits for its answers. If the
 * analyst fails for good, or the attempt is cancelled, the activity first stores the answers of calls in flight. The
 * next attempt in the same process waits until they are stored.
 *
 * Automatic retries do not repeat a question that got no valid label. A first attempt does repeat it: if the chunk was
 * labelled before, a person has answered `retry`, which schedules a new activity.
 *
 * In mode `batch` the chunk goes through the Batch API first. Questions without a valid answer are then asked directly.
 */
export async function labelChunk(
  artifacts: IdentifyArtifacts,
  input: Omit<LabelChunksInput, 'cursor' | 'totals'> & { chunk: number },
): Promise<LabelChunkResult> {
  const { context } = input;
  const { cancellationSignal: signal } = Context.current();
  const prepared = await artifacts.prepared(context);
  const { concurrency, maxPromptTokens, mode } = prepared.spec.analyst;
  const analyst = withWaitingNotes(artifacts.analyst(prepared, context), (note) => progress.setNote(note));
  const plan = await artifacts.plan(input.plan.plan);
  const chunk = chunkOf(plan, input.chunk);
  const file = await artifacts.chunkTrajectories(input.trajectories, chunk);
  const questions = questionsOf(file, await artifacts.candidates(input.candidates), plan);
  const cache = new LabelCache(artifacts.store, context.agent, plan.model);
  using progress = new Progress({ stage: 'identify', unit: 'labels', total: questions.length });
  const key = cache.segment(chunk, context.runId);
  const setNote = (note: string | undefined) => progress.setNote(note);
  let leave = (): void => undefined;
  const work: ChunkWork = {
    artifacts,
    input,
    cache,
    chunk,
    analyst,
    batch: mode === 'batch',
    concurrency,
    questions,
    episodes: episodeCache(file, maxPromptTokens),
    segment: new PaidSegment(artifacts.store, key, { ledger: analyst.ledger, signal, setNote }),
    progress,
    priority: artifacts.nextPriority(),
  };
  try {
    leave = await artifacts.attempts.begin(key, signal, setNote);
    const { own, labels } = await askWhatIsMissing(work);
    const { promptTokens, completionTokens, cachedTokens } = sumCalls(own.map(({ call }) => call));
    const asked = new Set(own.map(({ label }) => label.key)).size;
    const unlabelled = [...labels.values()].filter(({ label }) => label === null).length;
    return { asked, reused: questions.length - asked, unlabelled, promptTokens, completionTokens, cachedTokens };
  } finally {
    await work.segment.close().finally(() => analyst.flushUsage().finally(leave));
  }
}

function chunkOf({ chunks }: LabelPlanDocument, index: number): Chunk {
  const chunk = chunks[index];
  if (chunk) return chunk;
  throw new RangeError(
    `The label plan has ${chunks.length} chunks, so there is no chunk ${index} (the first one is 0).`,
  );
}

/** Asks until the cache has an outcome for every question. Meanwhile another run may answer some of them. */
async function askWhatIsMissing(work: ChunkWork): Promise<KnownLabels> {
  const { artifacts, input, cache, chunk, questions, progress, segment } = work;
  const { runId } = input.context;
  const { cancellationSignal: signal, info } = Context.current();
  const wanted = new Map(questions.map(({ key, trajectoryId }) => [key, trajectoryId]));
  const mustAsk = ({ labels }: KnownLabels, { key }: Question) =>
    info.attempt === 1 ? (labels.get(key)?.label ?? null) === null : !labels.has(key);
  const read = async () => {
    const known = await cache.known(chunk, runId, wanted, signal);
    await work.analyst.ledger?.opened(
      segment.key,
      known.own.map(({ call }) => call),
      known.ownLines,
    );
    const toAsk = questions.filter((question) => mustAsk(known, question));
    progress.setDone(questions.length - toAsk.length);
    return { known, toAsk };
  };
  let { known, toAsk } = await read();
  while (toAsk.length > 0) {
    const claim = await Claim.take(artifacts.store, cache.claimKey(chunk), {
      runId,
      questions: toAsk.length,
      signal,
      timing: artifacts.claimTiming ?? CLAIM_TIMING,
      onWait: (holder) => progress.setNote(`waits for ${holder.runId} to answer ${holder.questions} labels`),
    });
    try {
      progress.setNote(undefined);
      if (claim.wasHeld) ({ known, toAsk } = await read());
      await askAll(work, claim, known, toAsk);
      return known;
    } catch (error) {
      // Another run took over because this process was stopped for a while. The other run asks now, and this one waits
      // for it.
      const reason: unknown = claim.lost.aborted && !signal.aborted ? claim.lost.reason : error;
      if (!(reason instanceof ClaimLostError) || reason.toOwnRun) throw reason;
      ({ known, toAsk } = await read());
    } finally {
      await claim.release();
    }
  }
  return known;
}

/** Asks the questions under a claim, and adds the labels to the known ones. */
async function askAll(
  work: ChunkWork,
  claim: Claim,
  { own, labels, refusals }: KnownLabels,
  toAsk: readonly Question[],
): Promise<void> {
  const { analyst, concurrency, episodes, priority, progress, segment } = work;
  const { cancellationSignal } = Context.current();
  const rest = { signal: AbortSignal.any([cancellationSignal, claim.lost]), priority };
  const keep = async (stored: StoredLabel): Promise<void> => {
    await segment.append(stored, stored.call);
    own.push(stored);
    labels.set(stored.label.key, stored.label satisfies LabelRecord);
    progress.advance();
  };
  const fresh = toAsk.map((question) => withFreshCallKey(question, refusals));
  try {
    const direct = work.batch && fresh.length > 0 ? await askInBatch(work, fresh, { ...rest, keep }) : fresh;
    await inParallel(direct, concurrency, rest, async (question) => {
      await claim.confirm();
      await askQuestion(analyst, question, episodes(question.trajectory), { ...rest, keep });
    });
  } catch (error) {
    // The stage may end here without a tally, which would have added the labels to the index.
    await fileLabels(work);
    throw error;
  }
}

/** Asks through the Batch API. Returns the questions that got no valid answer. */
async function askInBatch(
  { analyst, episodes, progress }: ChunkWork,
  questions: readonly Question[],
  { keep, ...rest }: { signal: AbortSignal; priority: number; keep: (stored: StoredLabel) => Promise<void> },
): Promise<Question[]> {
  const requests = questions.map((question) => labelRequest(question, episodes(question.trajectory), rest));
  const answers = await analyst.askBatch(requests, {
    signal: rest.signal,
    onStatus: (status) => progress.setNote(status),
  });
  const unanswered: Question[] = [];
  for (const [i, question] of questions.entries()) {
    const { answer, wasted } = answers[i] ?? { answer: null };
    if (answer === null) unanswered.push({ ...question, ...(wasted && { wasted }) });
    else await keep(storedBatchAnswer(question, episodes(question.trajectory), answer));
  }
  progress.setNote(undefined);
  return unanswered;
}

/** Adds the labels of a chunk that ends early to the index. If that fails, those labels may be asked again one day. */
async function fileLabels({ cache, chunk, input }: ChunkWork): Promise<void> {
  try {
    const { signal } = new AbortController();
    const { own } = await cache.known(chunk, input.context.runId, new Map(), signal);
    await cache.index(signal).file(own.map(({ label }) => label));
  } catch (error) {
    Context.current().log.warn('the labels of a chunk that ended early could not be filed', { error });
  }
}
