import type { Candidate, Label } from '../../contracts/artifacts/identification';
import type { ChatMessage } from '../../contracts/artifacts/trajectory';
import { startOf } from '../../contracts/clean-text';
import { contentKey, refusalOfOneQuestion } from '../../llm';
import type { RecordedCalls } from '../analyst/recorded-calls';
import { charsForEpisodes, renderEpisodeWithin } from '../label-prompt/label-messages';
import {
  SEVERAL_EPISODES_VERSION,
  severalEpisodesMessages,
  severalLabelsProblem,
  severalLabelsSchema,
} from '../label-prompt/several-episodes';

/** Most episodes in one prompt. */
export const EPISODES_A_PROMPT = 10;
const MAX_REASON = 500;

/** What the reader says of an episode. `label` is null without a valid answer. */
export interface Reading {
  label: Label | null;
  reason: string;
  step: number | null;
}

/** Who answers, about what. */
export interface Reader {
  calls: RecordedCalls;
  capability: Candidate;
  model: string;
  maxPromptTokens: number;
}

/**
 * Asks for labels of episodes, several in a prompt, in an order that tells nothing. The reader sees messages only.
 * Answers are recorded. Episodes whose question is refused, or gets no valid answer, have no label.
 * @returns the readings in the order of `episodes`.
 * @throws every other failure of the analyst.
 */
export async function askReader(reader: Reader, episodes: readonly (readonly ChatMessage[])[]): Promise<Reading[]> {
  const rank = (messages: readonly ChatMessage[]): string => contentKey('shown', JSON.stringify(messages));
  const shown = episodes
    .map((messages, place) => ({
      place,
      rank: rank(messages),
      count: messages.length,
      text: renderEpisodeWithin(messages, reader.maxPromptTokens).text,
    }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1));
  const readings: Reading[] = [];
  for (const some of inPrompts(shown, charsForEpisodes(reader.maxPromptTokens))) {
    const labels = await ask(reader, some);
    for (const [index, { place }] of some.entries()) readings[place] = labels[index]!;
  }
  return readings;
}

/** An episode as the prompt has it. */
interface Shown {
  text: string;
  /** Number of its messages. */
  count: number;
}

/** Divides episodes among prompts. A prompt has at least one. */
function inPrompts<T extends Shown>(episodes: readonly T[], mostChars: number): T[][] {
  const prompts: T[][] = [];
  let room = 0;
  for (const episode of episodes) {
    const last = prompts.at(-1);
    if (last === undefined || last.length === EPISODES_A_PROMPT || episode.text.length > room) {
      prompts.push([episode]);
      room = mostChars - episode.text.length;
    } else {
      last.push(episode);
      room -= episode.text.length;
    }
  }
  return prompts;
}

async function ask({ calls, capability, model }: Reader, episodes: readonly Shown[]): Promise<Reading[]> {
  const messages = severalEpisodesMessages(
    episodes.map(({ text }) => text),
    capability,
  );
  const key = contentKey('read', SEVERAL_EPISODES_VERSION, model, JSON.stringify(messages));
  const unread = (reason: string): Reading[] =>
    episodes.map(() => ({ label: null, reason: startOf(reason, MAX_REASON), step: null }));
  // An earlier attempt of the activity paid for answers of which none was valid.
  if (calls.records.some((record) => record.key === key && record.unanswered === true))
    return unread('No valid answer.');
  try {
    const { value } = await calls.ask({
      kind: 'read',
      key,
      messages,
      schema: severalLabelsSchema,
      check: (answer) =>
        severalLabelsProblem(
          answer,
          episodes.map(({ count }) => count),
        ),
    });
    return value.labels.map(({ label, reason, step }) => ({
      label,
      reason: startOf(reason, MAX_REASON),
      step: label === 'NA' ? null : step,
    }));
  } catch (error) {
    const refusal = refusalOfOneQuestion(error);
    if (refusal === null) throw error;
    return unread(refusal.reason);
  }
}
