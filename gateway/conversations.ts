import { createHash } from 'node:crypto';
import { ApiError } from './http/errors';

/** Where a conversation goes, decided at its first turn. */
export interface RoutingDecision {
  agent: string;
  /** Null: the base model, because no version is active. */
  version: number | null;
  arm: 'active' | 'canary';
  /** The canary that was on when this was decided, for either arm; null: none. Only such conversations are compared. */
  canaryId: string | null;
  /** Immutable name of the adapter; null: the base model. */
  adapter: string | null;
  capabilityId: string;
  /** Why, as in the header x-whet-route. */
  reason: string;
  /** Calibrated probability of the choice; null where there is none. */
  probability: number | null;
}

/**
 * Decisions of the conversations used last. Forgetting one costs one call of the router, which decides the same again.
 */
export class DecisionCache {
  private readonly entries = new Map<string, RoutingDecision>();

  constructor(private readonly capacity: number) {}

  get size(): number {
    return this.entries.size;
  }

  get(key: string): RoutingDecision | undefined {
    const found = this.entries.get(key);
    if (found !== undefined) {
      this.entries.delete(key);
      this.entries.set(key, found);
    }
    return found;
  }

  set(key: string, decision: RoutingDecision): void {
    this.entries.delete(key);
    this.entries.set(key, decision);
    if (this.entries.size > this.capacity) this.entries.delete(this.entries.keys().next().value as string);
  }
}

/** A conversation's public name and its key here, which no other client and no other agent can hit. */
export interface ConversationKey {
  name: string;
  key: string;
}

const ALLOWED = /^[\x21-\x7e]{1,200}$/;

/**
 * From the client's header, or from the opening messages. Throws ApiError 400 for a header that cannot be given back.
 */
export function conversationKey(
  header: string | string[] | undefined,
  client: string,
  agent: string,
  opening: readonly string[],
): ConversationKey {
  if (header === undefined) {
    // Text by text: joining them first would write 100 KB once more.
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

/** Key of a conversation in this process. */
export const cacheKey = (client: string, agent: string, name: string): string => `${client}\u0000${agent}\u0000${name}`;
