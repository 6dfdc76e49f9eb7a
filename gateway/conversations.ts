import { createHash, hash } from 'node:crypto';
import { ApiError } from './http/errors';

/** The target of a conversation. It is decided at the first turn. */
export interface RoutingDecision {
  agent: string;
  /** Version of the registry. Null if none is active: then the base model answers. */
  version: number | null;
  arm: 'active' | 'canary';
  /**
   * The canary at the time of the decision, for both arms; null: there was none. Only conversations that began while a
   * canary ran are compared.
   */
  canaryId: string | null;
  /** Immutable name of the adapter; null: the base model. */
  adapter: string | null;
  /** A capability of the version, or `none`. */
  capabilityId: string;
  /** The reason, as in the header x-whet-route. */
  reason: string;
  /** Calibrated probability of the choice; null if there is none. */
  probability: number | null;
}

/** Why the base model gets a conversation although a version's router should have chosen. */
export type NoChoice = 'router-timeout' | 'router-failed';

/**
 * Whether the decision was made as intended: a router made it, even if for the base model, or there was no router to
 * ask. False if the router failed or took too long.
 */
export const wasChosen = ({ reason }: RoutingDecision): boolean =>
  reason !== ('router-timeout' satisfies NoChoice) && reason !== ('router-failed' satisfies NoChoice);

/** Identifies a conversation. */
export interface ConversationKey {
  /** The name, as in the header x-whet-conversation. */
  name: string;
  /** The key is unique in this process: two clients, or two agents, never share one. */
  key: string;
}

const ALLOWED = /^[\x21-\x7e]{1,200}$/;

/**
 * The conversation that the client's header names. Without this header, requests that begin with the same texts are one
 * conversation. Throws ApiError 400 for a header that the answer could not repeat.
 */
export function conversationKey(
  header: string | string[] | undefined,
  client: string,
  agent: string,
  opening: readonly string[],
): ConversationKey {
  if (header === undefined) {
    const name = `auto-${hashOf([client, agent, ...opening]).slice(0, 32)}`;
    return { name, key: cacheKey(client, agent, name) };
  }
  if (typeof header !== 'string' || !ALLOWED.test(header)) {
    throw new ApiError(400, 'x-whet-conversation must be 1 to 200 visible ASCII characters.', {
      code: 'invalid_conversation',
    });
  }
  return { name: header, key: cacheKey(client, agent, header) };
}

/**
 * Texts with a shorter total length are joined and hashed at once. For longer texts, joining costs more time than it
 * saves.
 */
const JOINED_CHARACTERS = 16_384;

/** SHA-256 of the texts, each followed by a zero character. */
function hashOf(texts: readonly string[]): string {
  let length = 0;
  for (const text of texts) length += text.length;
  if (length < JOINED_CHARACTERS) return hash('sha256', `${texts.join('\u0000')}\u0000`, 'hex');
  const digest = createHash('sha256');
  for (const text of texts) digest.update(text).update('\u0000');
  return digest.digest('hex');
}

/** The key of a client's conversation with an agent. */
export const cacheKey = (client: string, agent: string, name: string): string => `${client}\u0000${agent}\u0000${name}`;
