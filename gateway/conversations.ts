import { createHash } from 'node:crypto';
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

/**
 * Decisions of the most recently used conversations. A conversation that was dropped is routed again at its next turn,
 * which costs one call of the router.
 */
export class DecisionCache {
  private readonly entries = new Map<string, RoutingDecision>();

  constructor(private readonly capacity: number) {}

  /** Number of decisions that it holds. */
  get size(): number {
    return this.entries.size;
  }

  /** A conversation's decision, which becomes the most recently used one. */
  get(key: string): RoutingDecision | undefined {
    const found = this.entries.get(key);
    if (found !== undefined) {
      this.entries.delete(key);
      this.entries.set(key, found);
    }
    return found;
  }

  /** Keeps a decision. Drops the least recently used one when there is no more room. */
  set(key: string, decision: RoutingDecision): void {
    this.entries.delete(key);
    this.entries.set(key, decision);
    if (this.entries.size > this.capacity) this.entries.delete(this.entries.keys().next().value as string);
  }
}

/** Identifies a conversation. */
export interface ConversationKey {
  /** As in the header x-whet-conversation. */
  name: string;
  /** Unique in this process: two clients, or two agents, never share one. */
  key: string;
}

const ALLOWED = /^[\x21-\x7e]{1,200}$/;

/**
 * The conversation that the client's header names; without a header, the one that begins with these texts. Throws
 * ApiError 400 for a header that the answer could not repeat.
 */
export function conversationKey(
  header: string | string[] | undefined,
  client: string,
  agent: string,
  opening: readonly string[],
): ConversationKey {
  if (header === undefined) {
    // Text by text, because joining them first would copy 100 KB.
    const digest = createHash('sha256').update(`${client}\u0000${agent}\u0000`);
    for (const text of opening) digest.update(text).update('\u0000');
    const name = `auto-${digest.digest('hex').slice(0, 32)}`;
    return { name, key: cacheKey(client, agent, name) };
  }
  if (typeof header !== 'string' || !ALLOWED.test(header)) {
    throw new ApiError(400, 'x-whet-conversation must be 1 to 200 visible ASCII characters.', {
      code: 'invalid_conversation',
    });
  }
  return { name: header, key: cacheKey(client, agent, header) };
}

/** The key of a client's conversation with an agent. */
export const cacheKey = (client: string, agent: string, name: string): string => `${client}\u0000${agent}\u0000${name}`;
