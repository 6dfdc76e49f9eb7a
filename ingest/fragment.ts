import { createHash } from 'node:crypto';
import {
  type Conversation,
  type ConversationFormat,
  LONGEST_ID,
  MOST_ALIASES,
} from '../contracts/artifacts/conversation';
import type { ChatMessage, LeftOut } from '../contracts/artifacts/trajectory';

/**
 * What one record says of a conversation. All of a conversation have one key. Most hold the whole conversation up to a
 * point, as each request to a model does.
 */
export interface Fragment extends Pick<
  Conversation,
  'aliases' | 'model' | 'startedAt' | 'tools' | 'branches' | 'seed'
> {
  format: ConversationFormat;
  /** The conversation's id; with `isOpening` only what conversations with the same opening have in common. */
  key: string;
  /**
   * The source names no conversation: of those with this key each is one of its own. It is named by the first alias of
   * its first fragment. Absent: false.
   */
  isOpening?: true;
  /** Id of the trace, where the source names one. What is in different traces may be different conversations. */
  trace?: string;
  messages: ChatMessage[];
  leftOut: LeftOut[];
  /** Name of the request whose messages come in several fragments, this being some of them. Absent: it has all. */
  piece?: string;
  /** The messages come after those of another fragment, such as an answer in a file of its own. Absent: false. */
  isAnswer?: true;
}

/** A value that says how a conversation ended, as a record or an owner's file has it. */
export interface Scored {
  /** Id or alias of the conversation. */
  conversation: string;
  /** Name of the score, such as `correctness`. */
  name: string;
  value: unknown;
  /** From this number on it is a success, where the format says so. Absent: half. */
  passesFrom?: number;
  /** It counts only under a rule that names it, as it may tell of something else. Absent: false. */
  needsRule?: true;
  from: 'trace' | 'file';
  /** When it was given, ISO 8601. Null or absent: the source does not say. */
  at?: string | null;
}

/** Takes what a reader finds in a record. */
export interface Sink {
  fragment(fragment: Fragment): void;
  score(scored: Scored): void;
  /** Counts something of the record that is not kept. */
  leaveOut(reason: string): void;
}

/** A record that a reader cannot use: why, without a quote of it. */
export class RecordFault extends Error {}

/** An id as it is stored: a long one is replaced by its hash. */
export const idOf = (id: string): string => (id.length <= LONGEST_ID ? id : sha256(id));

/** Ids as aliases: each once, and no more than are kept. */
export const aliasesOf = (id: string, others: readonly (string | null | undefined)[]): string[] => {
  const known = others.filter((other): other is string => typeof other === 'string' && other !== '').map(idOf);
  return [...new Set(known)].filter((other) => other !== id).slice(0, MOST_ALIASES);
};

/** Hash of a text, in hex. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Names a record whose source may name no conversation.
 * @param id of the conversation; null: none.
 * @param recordId of this request alone; null: none.
 */
export function named(
  id: string | null,
  recordId: string | null,
  messages: readonly ChatMessage[],
): Pick<Fragment, 'key' | 'isOpening' | 'aliases'> & { own: string } {
  const own = idOf(recordId ?? sha256(JSON.stringify(messages)));
  if (id !== null)
    return { key: idOf(id), aliases: recordId === null ? [] : aliasesOf(idOf(id), [own]), own: idOf(id) };
  const opening = messages.find(({ role }) => role === 'user') ?? messages[0];
  return { key: sha256(opening?.content ?? ''), isOpening: true, aliases: [own], own };
}
