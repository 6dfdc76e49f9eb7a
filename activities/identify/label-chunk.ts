import { Context } from '@temporalio/activity';
import type { LabelChunkResult, LabelChunksInput } from '../../contracts/messages/identify-stage';
import { sumCalls } from '../analyst/recorded-calls';
import { inParallel } from '../in-parallel';
import { startProgress } from '../progress';
import type { IdentifyArtifacts } from './identify-artifacts';
import { knownLabels, labelSegment, type StoredLabel } from './labelling/label-cache';
import {
  storedAnswer,
  askQuestion,
  episodeCache,
  withFreshCallKey,
  labelRequest,
  questionsOf,
  type Question,
} from './labelling/label-question';

/**
 * Activity: labels one chunk of the plan.
 *
 * Each label is written to the chunk's segment before it counts. A retry, or another improvement run of the agent, asks
 * only what is not there. When the analyst fails for good, the answers under way are stored before the failure is
 * thrown.
 *
 * Where the analyst gave no valid label, automatic retries do not ask again. The first attempt does: if the chunk was
 * labelled before, a person has said `retry`, which schedules it anew.
 *
 * In mode `batch` the chunk goes through the Batch API first. Questions without a valid answer are then asked directly.
 */
export async function labelChunk(
  artifacts: IdentifyArtifacts,
  input: Omit<LabelChunksInput, 'cursor' | 'totals'> & { chunk: number },
): Promise<LabelChunkResult> {
  const { context } = input;
  const { heartbeat, cancellationSignal: signal, info } = Context.current();
  const prepared = await artifacts.prepared(context);
  const { concurrency, maxPromptTokens, mode } = prepared.spec.analyst;
  const analyst = artifacts.analyst(prepared, context);
  const plan = await artifacts.plan(input.plan.plan);
  const chunk = plan.chunks[input.chunk];
  if (!chunk)
    throw new RangeError(
      `The label plan has ${plan.chunks.length} chunks, so there is no chunk ${input.chunk} (the first one is 0).`,
    );
  const file = await artifacts.chunkTrajectories(input.trajectories, chunk);
  const questions = questionsOf(file, await artifacts.candidates(input.candidates), plan);
  const wanted = new Set(questions.map(({ key }) => key));
  const { labels, own, refusals } = await knownLabels(
    artifacts.store,
    context.agent,
    plan.model,
    chunk,
    context.runId,
    wanted,
  );
  const mustAsk = ({ key }: Question) =>
    info.attempt === 1 ? (labels.get(key)?.label ?? null) === null : !labels.has(key);
  const toAsk = questions.filter(mustAsk).map((question) => withFreshCallKey(question, refusals));
  const episodes = episodeCache(file, maxPromptTokens);
  const rest = { signal, priority: artifacts.nextPriority() };
  const segment = artifacts.store.segment(labelSegment(context.agent, plan.model, chunk, context.runId));
  const progress = startProgress({
    stage: 'identify',
    unit: 'labels',
    total: questions.length,
    done: questions.length - toAsk.length,
    heartbeat,
  });
  const keep = async (stored: StoredLabel): Promise<void> => {
    await segment.append(stored);
    own.push(stored);
    labels.set(stored.label.key, stored.label);
    progress.advance();
  };
  const askInBatch = async (): Promise<Question[]> => {
    const requests = toAsk.map((question) => labelRequest(question, episodes(question.trajectory), rest));
    const answers = await analyst.askBatch(requests, { signal, onStatus: (status) => progress.setNote(status) });
    const unanswered: Question[] = [];
    for (const [i, question] of toAsk.entries()) {
      const { answer, wasted } = answers[i] ?? { answer: null };
      if (answer === null) unanswered.push({ ...question, ...(wasted && { wasted }) });
      else await keep(storedAnswer(question, episodes(question.trajectory), answer));
    }
    progress.setNote(undefined);
    return unanswered;
  };
  try {
    const direct = mode === 'batch' && toAsk.length > 0 ? await askInBatch() : toAsk;
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
