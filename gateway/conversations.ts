import { createHash, hash } from 'node:crypto';
import { ApiError } from './http/errors';

/** Where a conversation goes. Decided at its first turn. */
export interface RoutingDecision {
  agent: string;
  /** Version of the registry. Null when none is active: then the base model answers. */
  version: number | null;
  arm: 'active' | 'canary';
  /**
   * The canary that ran when this was decided, for either arm; null: none ran. Only conversations that began while a
   * canary ran are compared.
   */
  canaryId: string | null;
  /** Immutable name of the adapter; null: the base model. */
  adapter: string | null;
  /** A capability of the version, or `none`. */
  capabilityId: string;
  /** Why, as in the header x-whet-route. */
  reason: string;
  /** Calibrated probability of the choice; null where there is none. */
  probability: number | null;
}

/** Why the base model gets a conversation for which a version's router should have chosen. */
export type NoChoice = 'router-timeout' | 'router-failed';

/**
 * Whether the decision was made as intended: by a router, even if for the base model, or because there was no router to
 * ask. False if the router failed or took too long.
 */
export const wasChosen = ({ reason }: RoutingDecision): boolean =>
  reason !== ('router-timeout' satisfies NoChoice) && reason !== ('router-failed' satisfies NoChoice);

/** Identifies a conversation. */
export interface ConversationKey {
  /** As in the header x-whet-conversation. */
  name: string;
  /** Unique in this process: two clients, or two agents, never share one. */
  key: string;
}

const ALLOWED = /^[\x21-\x7e]{1,200}$/;

/**
 * The conversation that the client's header names. Without a header, requests that begin with the same texts are one
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

/** Texts that are shorter than this together are hashed at once. Joining longer ones takes longer than it saves. */
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
