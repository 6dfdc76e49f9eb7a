import { Context } from '@temporalio/activity';
import type { Candidate, LabelChunkResult, LabelChunksInput, Trajectory } from '../../contracts';
import { contentKey, refusalOfOneQuestion, type Analyst } from '../../llm';
import type { LineFile } from '../../store';
import { callRecord, sumCalls } from '../analyst-calls';
import { startProgress } from '../progress';
import type { Documents } from './documents';
import { knownLabels, labelKey, labelSegment, type LabelPlanDocument, type StoredLabel } from './label-store';
import { labelAnswerSchema, labelMessagesFor, renderEpisodeWithin, type LabelAnswer } from './prompts/label';

const MAX_REASON = 500;

/** One label of a chunk that has to be asked. */
interface Question {
  key: string;
  /** Idempotency key of the call: the label's key, or one derived from it when earlier calls gave no label. */
  callKey: string;
  /** Index in the chunk. */
  trajectory: number;
  capability: Candidate;
}

/**
 * Labels one chunk. Each label is in the chunk's segment before it counts, so that a retry, or another run of the agent, asks nothing
 * that is there. When the analyst fails for good, the answers under way are still kept before the failure is thrown. A pair that the
 * analyst gave no valid label for is left alone by automatic retries; when the chunk is scheduled anew (a person said `retry`), it is
 * asked again.
 */
export async function labelChunk(documents: Documents, input: Omit<LabelChunksInput, 'cursor' | 'totals'> & { chunk: number }): Promise<LabelChunkResult> {
  const { context } = input;
  const { heartbeat, cancellationSignal, info } = Context.current();
  const prepared = await documents.prepared(context);
  const analyst = documents.analyst(prepared, context);
  const plan = await documents.plan(input.plan.plan);
  const chunk = plan.chunks[input.chunk];
  if (!chunk) throw new RangeError(`The label plan has ${plan.chunks.length} chunks; chunk ${input.chunk} was asked for.`);
  const file = await documents.trajectoriesOf(input.trajectories, chunk);
  const questions = questionsOf(file, await documents.candidates(input.candidates), plan);
  const wanted = new Set(questions.map(({ key }) => key));
  const { labels, own, refusals } = await knownLabels(documents.store, context.agent, plan.model, chunk, context.runId, wanted);
  const isOpen = ({ key }: Question) => (info.attempt === 1 ? (labels.get(key)?.label ?? null) === null : !labels.has(key));
  const open = questions.filter(isOpen).map((question) => freshKey(question, refusals));
  const episodes = episodeCache(file, prepared.spec.analyst.maxPromptTokens);
  const turn = documents.nextTurn();
  const segment = documents.store.segment(labelSegment(context.agent, plan.model, chunk, context.runId));
  const progress = startProgress({ stage: 'identify', unit: 'labels', total: questions.length, done: questions.length - open.length, heartbeat });
  try {
    await inParallel(open, prepared.spec.analyst.concurrency, async (question) => {
      const stored = await ask(analyst, question, episodes(question.trajectory), { signal: cancellationSignal, turn });
      await segment.append(stored);
      own.push(stored);
      labels.set(question.key, stored.label);
      progress.advance();
    });
  } finally {
    progress.stop();
    await segment.close();
    await analyst.settle();
  }
  const { promptTokens, completionTokens, cachedTokens } = sumCalls(own.map(({ call }) => call));
  const asked = new Set(own.map(({ label }) => label.key)).size;
  const unlabelled = [...labels.values()].filter(({ label }) => label === null).length;
  return { asked, reused: questions.length - asked, unlabelled, promptTokens, completionTokens, cachedTokens };
}

function questionsOf(file: LineFile<Trajectory>, candidates: readonly Candidate[], { model, run }: LabelPlanDocument): Question[] {
  const questions: Question[] = [];
  for (let trajectory = 0; trajectory < file.length; trajectory++) {
    const { id } = file.at(trajectory);
    for (const capability of candidates) {
      const key = labelKey(id, capability, model, run);
      questions.push({ key, callKey: key, trajectory, capability });
    }
  }
  return questions;
}

/** An endpoint that honours idempotency keys would repeat the answer that was no label, so a question asked again gets a new key. */
function freshKey(question: Question, refusals: ReadonlyMap<string, number>): Question {
  const before = refusals.get(question.key) ?? 0;
  return before === 0 ? question : { ...question, callKey: contentKey(question.key, String(before)) };
}

interface Episode {
  id: string;
  text: string;
  messages: number;
  shortened: boolean;
}

/** Renders an episode once for all its capabilities; they stand together, so that remembering the last few is enough. */
function episodeCache(file: LineFile<Trajectory>, maxPromptTokens: number): (index: number) => Episode {
  const recent = new Map<number, Episode>();
  return (index) => {
    let episode = recent.get(index);
    if (!episode) {
      const { id, messages } = file.at(index);
      const { text, leftOut } = renderEpisodeWithin(messages, maxPromptTokens);
      episode = { id, text, messages: messages.length, shortened: leftOut > 0 };
      recent.set(index, episode);
      if (recent.size > 64) recent.delete(recent.keys().next().value as number);
    }
    return episode;
  };
}

/** What is wrong with the step that an answer quotes; for NA none is needed, so none is wrong. */
function stepProblem({ messages }: Episode): (answer: LabelAnswer) => string | null {
  return ({ label, step }) =>
    label === 'NA' || step === null || step < messages
      ? null
      : `"step" is ${step}, but the episode's messages have the numbers 0 to ${messages - 1}; quote one of them, or null when none shows it`;
}

async function ask(
  analyst: Analyst,
  { key, callKey, capability }: Question,
  episode: Episode,
  rest: { signal: AbortSignal; turn: number },
): Promise<StoredLabel> {
  const about = { trajectoryId: episode.id, capabilityId: capability.id, key };
  const request = {
    kind: 'label',
    key: callKey,
    messages: labelMessagesFor(episode.text, capability),
    schema: labelAnswerSchema,
    check: stepProblem(episode),
    shortened: episode.shortened,
    ...rest,
  } as const;
  try {
    const answer = await analyst.ask(request);
    const { label, reason, step } = answer.value;
    const shown = label === 'NA' ? null : step;
    return { label: { ...about, label, step: shown, reason: reason.slice(0, MAX_REASON) }, call: callRecord(request, answer) };
  } catch (error) {
    const refusal = refusalOfOneQuestion(error);
    if (!refusal) throw error;
    return {
      label: { ...about, label: null, step: null, reason: refusal.reason.slice(0, MAX_REASON) },
      call: callRecord(request, { usage: refusal.usage, asks: refusal.asks, model: analyst.model }),
    };
  }
}

/** Runs the action on all items, `limit` at once, in order. After a first error no new one is started; it is thrown when all have ended. */
async function inParallel<T>(items: readonly T[], limit: number, action: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const errors: unknown[] = [];
  const lane = async () => {
    while (next < items.length && errors.length === 0) {
      try {
        await action(items[next++] as T);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, lane));
  if (errors.length > 0) throw errors[0];
}
