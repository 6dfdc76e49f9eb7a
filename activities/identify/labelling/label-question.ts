import { BATCH_KIND } from '../../../contracts/artifacts/analyst-use';
import type { CallRecord } from '../../../contracts/artifacts/call-record';
import type { Candidate } from '../../../contracts/artifacts/identification';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import { startOf } from '../../../contracts/clean-text';
import {
  contentKey,
  refusalOfOneQuestion,
  type Analyst,
  type AnalystAnswer,
  type AnalystRequest,
  type AnalystUsage,
} from '../../../llm';
import type { LineFile } from '../../../store';
import { callRecord } from '../../analyst/recorded-calls';
import {
  labelAnswerSchema,
  labelMessagesFor,
  renderEpisodeWithin,
  type LabelAnswer,
} from '../../label-prompt/label-messages';
import { labelKey, type StoredLabel } from './label-cache';
import type { LabelPlanDocument } from './label-plan';

const MAX_REASON = 500;

/** A question to the analyst: the label of one capability in one trajectory. */
export interface Question {
  /** Key of the label, made by `labelKey`. */
  key: string;
  /** Idempotency key of the call: the label's key, or a derived one if earlier calls gave no label. */
  callKey: string;
  /** Index of the trajectory in the chunk. */
  trajectory: number;
  trajectoryId: string;
  capability: Candidate;
  /** Tokens that an earlier invalid answer of the Batch API used. */
  wasted?: AnalystUsage;
}

/**
 * All questions of a chunk. The questions of one trajectory are consecutive: their prompts share a beginning, which the
 * endpoint can serve from its cache.
 */
export function questionsOf(
  file: LineFile<Trajectory>,
  candidates: readonly Candidate[],
  { model, run }: LabelPlanDocument,
): Question[] {
  const questions: Question[] = [];
  for (let trajectory = 0; trajectory < file.length; trajectory++) {
    const { id } = file.at(trajectory);
    for (const capability of candidates) {
      const key = labelKey(id, capability, model, run);
      questions.push({ key, callKey: key, trajectory, trajectoryId: id, capability });
    }
  }
  return questions;
}

/**
 * The question with a new idempotency key, if it was asked before without a valid label. Otherwise an endpoint that
 * honours idempotency keys would repeat the invalid answer. `refusals` counts invalid answers by label key.
 */
export function withFreshCallKey(question: Question, refusals: ReadonlyMap<string, number>): Question {
  const before = refusals.get(question.key) ?? 0;
  return before === 0 ? question : { ...question, callKey: contentKey(question.key, String(before)) };
}

/** An episode in the form that prompts show. */
export interface Episode {
  id: string;
  text: string;
  messages: number;
  shortened: boolean;
}

/**
 * Renders each episode of a chunk once for all its capabilities; the argument is its index in the chunk. The questions
 * of one episode are consecutive, so it is enough to keep the last few episodes.
 */
export function episodeCache(file: LineFile<Trajectory>, maxPromptTokens: number): (index: number) => Episode {
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

/** Returns the problem with the step that an answer quotes, or null. The step of a label NA is not checked. */
function stepProblem({ messages }: Episode): (answer: LabelAnswer) => string | null {
  return ({ label, step }) =>
    label === 'NA' || step === null || step < messages
      ? null
      : `"step" is ${step}, but the episode's messages have the numbers 0 to ${messages - 1}; quote one of them, ` +
        'or null when none shows it';
}

/** The analyst request that asks a question. `priority`: requests with a lower number are sent first. */
export function labelRequest(
  { callKey, capability }: Question,
  episode: Episode,
  rest: { signal: AbortSignal; priority: number },
): AnalystRequest<LabelAnswer> {
  return {
    kind: 'label',
    key: callKey,
    messages: labelMessagesFor(episode.text, capability),
    schema: labelAnswerSchema,
    check: stepProblem(episode),
    shortened: episode.shortened,
    isRecorded: true,
    ...rest,
  };
}

/** The line of the label segment for a valid answer. */
function storedAnswer(question: Question, episode: Episode, answer: AnalystAnswer<LabelAnswer>): StoredLabel {
  const { label, reason, step } = answer.value;
  return {
    label: {
      ...about(question, episode),
      label,
      step: label === 'NA' ? null : step,
      reason: startOf(reason, MAX_REASON),
    },
    call: record(question, episode, answer),
  };
}

/** Like `storedAnswer`, for an answer of the Batch API. */
export function storedBatchAnswer(...[question, episode, answer]: Parameters<typeof storedAnswer>): StoredLabel {
  const stored = storedAnswer(question, episode, answer);
  return { ...stored, call: { ...stored.call, kind: `${stored.call.kind}${BATCH_KIND}` } };
}

/**
 * Asks one question and stores the label, or null if no valid answer came.
 * @throws every other failure of the analyst, for example a refused API key or a spent budget.
 */
export async function askQuestion(
  analyst: Analyst,
  question: Question,
  episode: Episode,
  { keep, ...rest }: { signal: AbortSignal; priority: number; keep: (stored: StoredLabel) => Promise<void> },
): Promise<void> {
  try {
    await analyst.ask({
      ...labelRequest(question, episode, rest),
      keep: (answer) => keep(storedAnswer(question, episode, answer)),
      keepRefusal: ({ reason, ...cost }) =>
        keep({
          label: { ...about(question, episode), label: null, step: null, reason: startOf(reason, MAX_REASON) },
          call: record(question, episode, { ...cost, model: analyst.model }, true),
        }),
    });
  } catch (error) {
    if (!refusalOfOneQuestion(error)) throw error;
  }
}

const about = ({ key, capability }: Question, { id }: Episode) => ({
  trajectoryId: id,
  capabilityId: capability.id,
  key,
});

function record(
  { callKey, wasted }: Question,
  { shortened }: Episode,
  answer: Omit<AnalystAnswer<unknown>, 'value'>,
  isUnanswered = false,
): CallRecord {
  const call = callRecord({ kind: 'label', key: callKey, shortened }, answer, isUnanswered);
  if (wasted === undefined || wasted.promptTokens === 0) return call;
  return {
    ...call,
    asks: call.asks + 1,
    promptTokens: call.promptTokens + wasted.promptTokens,
    completionTokens: call.completionTokens + wasted.completionTokens,
    cachedTokens: call.cachedTokens + wasted.cachedTokens,
    wastedInBatch: wasted,
  };
}
