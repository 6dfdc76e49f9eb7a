/**
 * Decides whether a conversation switches to another adapter at a later message. Evaluation and the gateway call the
 * same function. It reads only the conversation, so that both switch in the same way.
 */
import type { LaterMessages } from '../contracts/artifacts/router-choice';
import { MIXED } from '../contracts/names';
import type { ArmChoice } from './kind';
import type { Router } from './kinds';
import { likeliestFirst, needReader } from './need-reader';
import type { ReadMessage } from './opening-text';
import type { LaterTurnsModel } from './router-parts';
import { toolNeedsReader } from './tool-needs';

/** Longer messages are cut: a request is near their start, and the gateway reads them at every request. */
const MOST_CHARACTERS = 2_000;

/**
 * Total number of characters that are read, from the newest message backwards. Older requests do not count: then the
 * conversation returns to the arm of its opening.
 */
const MOST_IN_ALL = 40_000;

const ROLES: Record<LaterMessages, readonly string[]> = { user: ['user'], 'user-and-tools': ['user', 'tool'] };

/** The messages from the agent's first answer on. Of the agent's answers only the calls are kept. */
export function laterMessages(messages: readonly ReadMessage[]): ReadMessage[] {
  const answered = messages.findIndex(({ role }) => role === 'assistant');
  if (answered < 0) return [];
  const all = ROLES['user-and-tools'];
  return messages.slice(answered).flatMap(({ role, content, tool_calls }): ReadMessage[] => {
    if (role === 'assistant') return [{ role, content: null, ...(tool_calls && { tool_calls }) }];
    return all.includes(role) ? [{ role, content }] : [];
  });
}

/** Beginnings of the newest messages after the agent's first answer, in order. */
export function laterTexts(messages: readonly ReadMessage[], reads: LaterMessages): string[] {
  const texts = laterMessages(messages).flatMap(({ role, content }) =>
    ROLES[reads].includes(role) ? [(content ?? '').slice(0, MOST_CHARACTERS)] : [],
  );
  let left = MOST_IN_ALL;
  const first = texts.findLastIndex((text) => (left -= text.length) < 0);
  return texts.slice(first + 1);
}

/**
 * The arm that later messages need; null: none, so the conversation stays with the arm of its opening.
 * @param opening capability of that arm.
 */
export type LaterTurnsReader = (messages: readonly ReadMessage[], opening: string) => ArmChoice | null;

/**
 * Opens a router's model of later messages; null if its conversations keep their first adapter.
 * @param served capabilities that have an adapter.
 */
export function openLaterTurns(router: Router, served?: readonly string[]): LaterTurnsReader | null {
  const isServed = ({ capabilityId }: { capabilityId: string }) =>
    !router.leftOut.includes(capabilityId) && (served?.includes(capabilityId) ?? true);
  if ('toolNeeds' in router && router.toolNeeds !== undefined)
    return toolNeedsReader({ ...router.toolNeeds, needs: router.toolNeeds.needs.filter(isServed) });
  if (!('laterTurns' in router) || router.laterTurns === undefined) return null;
  return laterTurnsReader({ ...router.laterTurns, needs: router.laterTurns.needs.filter(isServed) });
}

/**
 * Reads later messages. The newest one that clearly needs a capability decides; one without a need changes nothing. The
 * mixed adapter was trained for all needs of later messages, so it keeps its conversations.
 */
export function laterTurnsReader({ reads, vocabulary, needs, threshold }: LaterTurnsModel): LaterTurnsReader {
  const needsOf = needReader({ vocabulary, needs });
  return (messages, opening) => {
    if (opening === MIXED) return null;
    for (const text of laterTexts(messages, reads).reverse()) {
      const [best] = likeliestFirst(needsOf(text));
      if (best !== undefined && best.probability >= threshold) return { ...best, reason: 'later-turn' };
    }
    return null;
  };
}
