/**
 * Follows the needs that the results of tools show: the adapter of an open need answers until the need is met, then
 * that of the next. Evaluation and the gateway call the same function.
 */
import { createHash } from 'node:crypto';
import type { ArmChoice } from './kind';
import { likeliestFirst, type NeedProbability, needReader } from './need-reader';
import type { ReadMessage } from './opening-text';
import type { ToolNeedsModel } from './router-parts';

/** Longer results are cut, and the gateway reads them at every request. */
const MOST_CHARACTERS = 2_000;

/** Number of messages that are read, the newest ones. */
const MOST_MESSAGES = 200;

/** Number of characters of results that are read, from the newest backwards: reading them takes about 10 ms. */
const MOST_IN_ALL = 50_000;

/** Number of results whose needs a reader remembers, because a request brings all earlier results again. */
const MOST_REMEMBERED = 10_000;

/** The part of a tool's result that is read. */
export const resultText = ({ content }: ReadMessage): string => (content ?? '').slice(0, MOST_CHARACTERS);

/** Names of the tools that a message calls. */
export const calledTools = ({ role, tool_calls }: ReadMessage): string[] =>
  role === 'assistant' ? (tool_calls ?? []).map(({ function: { name } }) => name) : [];

/** A need that a result showed, and how many calls are missing until it is met; null: no call meets it. */
interface OpenNeed {
  capabilityId: string;
  probability: number;
  missing: number | null;
}

/** The newest messages, as many as are read. Needs that older results showed are forgotten. */
function newest(messages: readonly ReadMessage[]): readonly ReadMessage[] {
  const some = messages.slice(-MOST_MESSAGES);
  let left = MOST_IN_ALL;
  const tooOld = some.findLastIndex((message) => message.role === 'tool' && (left -= resultText(message).length) < 0);
  return some.slice(tooOld + 1);
}

/** The needs that a result shows, the likeliest first. The newest results are remembered, by their hash. */
function shownNeedsReader({ vocabulary, needs, threshold }: ToolNeedsModel) {
  const needsOf = needReader({ vocabulary, needs });
  const remembered = new Map<string, readonly NeedProbability[]>();
  return (result: string): readonly NeedProbability[] => {
    const key = createHash('sha256').update(result).digest('base64');
    const shown =
      remembered.get(key) ?? likeliestFirst(needsOf(result).filter(({ probability }) => probability >= threshold));
    remembered.delete(key);
    remembered.set(key, shown);
    if (remembered.size > MOST_REMEMBERED) remembered.delete(remembered.keys().next().value!);
    return shown;
  };
}

/**
 * The arm of the need that is open after these messages; null if none is. Needs that a call meets come first, in the
 * order in which they were shown. Other needs stay open, and the newest of them counts.
 */
export function toolNeedsReader(model: ToolNeedsModel) {
  const { needs } = model;
  const needsIn = shownNeedsReader(model);
  const metBy = new Map(needs.map((need) => [need.capabilityId, need.metBy]));
  return (messages: readonly ReadMessage[]): ArmChoice | null => {
    let open: OpenNeed[] = [];
    for (const message of newest(messages)) {
      for (const tool of calledTools(message))
        open = open
          .map((need) => (metBy.get(need.capabilityId)?.tool === tool ? oneCallLess(need) : need))
          .filter(({ missing }) => missing !== 0);
      if (message.role !== 'tool') continue;
      for (const { capabilityId, probability } of needsIn(resultText(message))) {
        const missing = metBy.get(capabilityId)?.calls ?? null;
        if (missing !== null && open.some((need) => need.capabilityId === capabilityId)) continue;
        open = [...open.filter((need) => need.capabilityId !== capabilityId), { capabilityId, probability, missing }];
      }
    }
    const next = open.find(({ missing }) => missing !== null) ?? open.at(-1);
    return next ? { capabilityId: next.capabilityId, probability: next.probability, reason: 'open-need' } : null;
  };
}

const oneCallLess = (need: OpenNeed): OpenNeed => ({
  ...need,
  missing: need.missing === null ? null : need.missing - 1,
});
