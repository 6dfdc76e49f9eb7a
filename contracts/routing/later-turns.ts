/**
 * Whether a later message moves a conversation to another adapter. Evaluation and the gateway call the same function,
 * on nothing but the conversation, so that they move alike.
 */
import type { CompetitionRouter, LaterMessages } from '../artifacts/router';
import type { ArmChoice } from './choose-arm';
import { needReader } from './need-reader';

/** A message as far as it is read here. Roles that are not read may have any content. */
export interface ReadMessage {
  role: string;
  content: string | null;
}

/** Longer messages are cut: what is asked for stands at the beginning, and the gateway reads them at every request. */
const MOST_CHARACTERS = 2_000;

/**
 * Characters that are read in all, from the newest message on. Only what was asked for longer ago no longer counts;
 * then the conversation goes back to the arm of its opening.
 */
const MOST_IN_ALL = 40_000;

const ROLES: Record<LaterMessages, readonly string[]> = { user: ['user'], 'user-and-tools': ['user', 'tool'] };

/**
 * What a conversation holds from the agent's first answer on, without what the agent says. It begins with that answer,
 * emptied, so that reading the result again gives the same.
 */
export function laterMessages(messages: readonly ReadMessage[]): ReadMessage[] {
  const answered = messages.findIndex(({ role }) => role === 'assistant');
  if (answered < 0) return [];
  const all = ROLES['user-and-tools'];
  return messages
    .slice(answered)
    .flatMap(({ role, content }, i) => (i === 0 || all.includes(role) ? [{ role, content: i ? content : null }] : []));
}

/** Beginnings of the newest messages after the agent's first, the oldest first. */
export function laterTexts(messages: readonly ReadMessage[], reads: LaterMessages): string[] {
  const texts = laterMessages(messages).flatMap(({ role, content }) =>
    ROLES[reads].includes(role) ? [(content ?? '').slice(0, MOST_CHARACTERS)] : [],
  );
  let left = MOST_IN_ALL;
  const first = texts.findLastIndex((text) => (left -= text.length) < 0);
  return texts.slice(first + 1);
}

/**
 * Where later messages move a conversation to; null: nowhere, so it stays with the arm of its opening. The newest
 * message that clearly calls for a capability decides. A message that calls for nothing changes nothing.
 */
export type LaterTurnsReader = (messages: readonly ReadMessage[]) => ArmChoice | null;

/**
 * Reads what a router says about later messages; null when it says that conversations stay where they began.
 * @param served capabilities whose adapters there are.
 */
export function openLaterTurns(router: CompetitionRouter, served?: readonly string[]): LaterTurnsReader | null {
  if (!('laterTurns' in router) || router.laterTurns === undefined) return null;
  const { laterTurns, leftOut } = router;
  const needs = laterTurns.needs.filter(
    ({ capabilityId }) => !leftOut.includes(capabilityId) && (served?.includes(capabilityId) ?? true),
  );
  const needsOf = needReader({ vocabulary: laterTurns.vocabulary, needs });
  return (messages) => {
    for (const text of laterTexts(messages, laterTurns.reads).reverse()) {
      const [best] = needsOf(text).sort((a, b) => b.probability - a.probability);
      if (best !== undefined && best.probability >= laterTurns.threshold) return { ...best, reason: 'later-turn' };
    }
    return null;
  };
}
