import { Context } from '@temporalio/activity';
import type { LabelChunkResult, LabelChunksInput } from '../../contracts/messages/identify-stage';
import { sumCalls } from '../analyst/recorded-calls';
import { inParallel } from '../in-parallel';
import { startProgress } from '../progress';
import type { Documents } from './documents';
import {
  answered,
  askQuestion,
  episodeCache,
  freshKey,
  labelRequest,
  questionsOf,
  type Question,
} from './label-question';
import { knownLabels, labelSegment, type StoredLabel } from './label-store';

/**
 * Labels one chunk. Each label is in the chunk's segment before it counts, so that a retry, or another run of the
 * agent, asks nothing that is there. When the analyst fails for good, the answers under way are still kept before the
 * failure is thrown. A pair that the analyst gave no valid label for is left alone by automatic retries; when the chunk
 * is scheduled anew (a person said `retry`), it is asked again. In mode `batch` the chunk goes through the Batch API
 * first; what that has no valid answer for is asked directly.
 */
export async function labelChunk(
  documents: Documents,
  input: Omit<LabelChunksInput, 'cursor' | 'totals'> & { chunk: number },
): Promise<LabelChunkResult> {
  const { context } = input;
  const { heartbeat, cancellationSignal: signal, info } = Context.current();
  const prepared = await documents.prepared(context);
  const { concurrency, maxPromptTokens, mode } = prepared.spec.analyst;
  const analyst = documents.analyst(prepared, context);
  const plan = await documents.plan(input.plan.plan);
  const chunk = plan.chunks[input.chunk];
  if (!chunk)
    throw new RangeError(`The label plan has ${plan.chunks.length} chunks; chunk ${input.chunk} was asked for.`);
  const file = await documents.trajectoriesOf(input.trajectories, chunk);
  const questions = questionsOf(file, await documents.candidates(input.candidates), plan);
  const wanted = new Set(questions.map(({ key }) => key));
  const { labels, own, refusals } = await knownLabels(
    documents.store,
    context.agent,
    plan.model,
    chunk,
    context.runId,
    wanted,
  );
  const isOpen = ({ key }: Question) =>
    info.attempt === 1 ? (labels.get(key)?.label ?? null) === null : !labels.has(key);
  const open = questions.filter(isOpen).map((question) => freshKey(question, refusals));
  const episodes = episodeCache(file, maxPromptTokens);
  const rest = { signal, priority: documents.nextPriority() };
  const segment = documents.store.segment(labelSegment(context.agent, plan.model, chunk, context.runId));
  const progress = startProgress({
    stage: 'identify',
    unit: 'labels',
    total: questions.length,
    done: questions.length - open.length,
    heartbeat,
  });
  const keep = async (stored: StoredLabel): Promise<void> => {
    await segment.append(stored);
    own.push(stored);
    labels.set(stored.label.key, stored.label);
    progress.advance();
  };
  const throughBatch = async (): Promise<Question[]> => {
    const requests = open.map((question) => labelRequest(question, episodes(question.trajectory), rest));
    const answers = await analyst.askBatch(requests, { signal, onStatus: (status) => progress.setNote(status) });
    const left: Question[] = [];
    for (const [i, question] of open.entries()) {
      const { answer, wasted } = answers[i] ?? { answer: null };
      if (answer === null) left.push({ ...question, ...(wasted && { wasted }) });
      else await keep(answered(question, episodes(question.trajectory), answer));
    }
    progress.setNote(undefined);
    return left;
  };
  try {
    const direct = mode === 'batch' && open.length > 0 ? await throughBatch() : open;
    await inParallel(direct, concurrency, { signal }, (question) =>
      askQuestion(analyst, question, episodes(question.trajectory), { ...rest, keep }),
    );
  } finally {
    progress.stop();
    await segment.close();
    await analyst.flushUsage();
  }
  const { promptTokens, completionTokens, cachedTokens } = sumCalls(own.map(({ call }) => call));
  const asked = new Set(own.map(({ label }) => label.key)).size;
  const unlabelled = [...labels.values()].filter(({ label }) => label === null).length;
  return { asked, reused: questions.length - asked, unlabelled, promptTokens, completionTokens, cachedTokens };
}
