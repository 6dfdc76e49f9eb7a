import type { Candidate } from '../../contracts/artifacts/identification';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import {
  contentKey,
  refusalOfOneQuestion,
  type Analyst,
  type AnalystAnswer,
  type AnalystRequest,
  type AnalystUsage,
} from '../../llm';
import type { LineFile } from '../../store';
import { callRecord } from '../analyst/recorded-calls';
import { labelKey, type LabelPlanDocument, type StoredLabel } from './label-store';
import { labelAnswerSchema, labelMessagesFor, renderEpisodeWithin, type LabelAnswer } from './prompts/label';

const MAX_REASON = 500;

/** One label of a chunk that has to be asked. */
export interface Question {
  key: string;
  /** Idempotency key of the call: the label's key, or one derived from it when earlier calls gave no label. */
  callKey: string;
  /** Index in the chunk. */
  trajectory: number;
  capability: Candidate;
  /** What an answer of a batch that was not valid has cost. */
  wasted?: AnalystUsage;
}

/**
 * All questions of a chunk, those of one trajectory together: their prompts share a long beginning, which the
 * endpoint's cache likes.
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
      questions.push({ key, callKey: key, trajectory, capability });
    }
  }
  return questions;
}

/**
 * An endpoint that honours idempotency keys would repeat the answer that was no label, so a question asked again gets a
 * new key.
 */
export function freshKey(question: Question, refusals: ReadonlyMap<string, number>): Question {
  const before = refusals.get(question.key) ?? 0;
  return before === 0 ? question : { ...question, callKey: contentKey(question.key, String(before)) };
}

/** An episode as prompts show it. */
export interface Episode {
  id: string;
  text: string;
  messages: number;
  shortened: boolean;
}

/**
 * Renders an episode once for all its capabilities; they stand together, so that remembering the last few is enough.
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

/** What is wrong with the step that an answer quotes; for NA none is needed, so none is wrong. */
function stepProblem({ messages }: Episode): (answer: LabelAnswer) => string | null {
  return ({ label, step }) =>
    label === 'NA' || step === null || step < messages
      ? null
      : `"step" is ${step}, but the episode's messages have the numbers 0 to ${messages - 1}; quote one of them, or null when none shows it`;
}

/** The call that asks a question. */
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
    ...rest,
  };
}

/** A valid answer as it is stored. */
export function answered(question: Question, episode: Episode, answer: AnalystAnswer<LabelAnswer>): StoredLabel {
  const { label, reason, step } = answer.value;
  return {
    label: {
      ...about(question, episode),
      label,
      step: label === 'NA' ? null : step,
      reason: reason.slice(0, MAX_REASON),
    },
    call: record(question, answer),
  };
}

/**
 * Asks a question and keeps its label. One that gets no valid answer is kept without a label; throws what concerns not
 * only this question.
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
      keep: (answer) => keep(answered(question, episode, answer)),
      keepRefusal: ({ reason, usage, asks }) =>
        keep({
          label: { ...about(question, episode), label: null, step: null, reason: reason.slice(0, MAX_REASON) },
          call: record(question, { usage, asks, model: analyst.model }),
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

function record({ callKey, wasted }: Question, answer: Pick<AnalystAnswer<unknown>, 'usage' | 'asks' | 'model'>) {
  const call = callRecord({ kind: 'label', key: callKey }, answer);
  if (wasted === undefined || wasted.promptTokens === 0) return call;
  return {
    ...call,
    asks: call.asks + 1,
    promptTokens: call.promptTokens + wasted.promptTokens,
    completionTokens: call.completionTokens + wasted.completionTokens,
    cachedTokens: call.cachedTokens + wasted.cachedTokens,
  };
}
