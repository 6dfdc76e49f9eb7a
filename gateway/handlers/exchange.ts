import type { IncomingMessage, ServerResponse } from 'node:http';
import { GATEWAY_HEADERS } from '../../contracts/config/gateway-config';
import type { ServedAgent } from '../agents/served-agent';
import type { ConversationKey } from '../conversations';
import type { Client } from '../clients';
import type { MemoryLease } from '../http/memory-budget';
import type { RequestSpan } from '../opentelemetry';

/** The target of a request. The answer's headers, the metrics and the span report it. */
export interface Routed {
  agent: ServedAgent;
  /** Null for a request without a conversation: embeddings. */
  conversation: ConversationKey | null;
  /** Version of the registry; null: the base model. */
  version: number | null;
  /** Immutable name of the adapter; null: the base model. */
  adapter: string | null;
  /** The reason, as in the header x-whet-route. */
  reason: string;
  /** Whether the base model answers only because a router or an adapter failed. */
  standsIn: boolean;
}

/** One inference request in progress: its timing, its target, and the headers that describe both. */
export class Exchange {
  readonly began = performance.now();
  /** Time spent waiting for clients and model servers, in milliseconds. The rest of the time is the gateway's own. */
  private waited = 0;
  private waitingSince: number | null = null;
  /** Null until the request has been routed. */
  routed: Routed | null = null;
  /** Null if requests are not traced. */
  span: RequestSpan | null = null;

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly client: Client,
    /** Memory for its body. */
    readonly memory: MemoryLease,
    /** Memory for its answer. */
    readonly answerMemory: MemoryLease,
  ) {}

  /** Awaits a promise, and does not count that time as the gateway's own. Rejects if the promise does. */
  async waiting<T>(wait: Promise<T>): Promise<T> {
    this.waitingSince = performance.now();
    try {
      return await wait;
    } finally {
      this.stopWaiting();
    }
  }

  /** Ends the current wait, when a stream begins before its promise resolves. */
  stopWaiting(): void {
    if (this.waitingSince !== null) this.waited += performance.now() - this.waitingSince;
    this.waitingSince = null;
  }

  /** The gateway's own time so far, in milliseconds. */
  overheadMs(): number {
    return performance.now() - this.began - this.waited;
  }

  /** The x-whet-* headers of the answer, those that are known now. */
  headers(): Record<string, string> {
    const headers: Record<string, string> = { [GATEWAY_HEADERS.overhead]: this.overheadMs().toFixed(3) };
    if (this.routed === null) return headers;
    const { adapter, version, reason, conversation } = this.routed;
    headers[GATEWAY_HEADERS.adapter] = adapter ?? 'base';
    headers[GATEWAY_HEADERS.version] = version === null ? 'base' : String(version);
    headers[GATEWAY_HEADERS.route] = reason;
    if (conversation !== null) headers[GATEWAY_HEADERS.conversation] = conversation.name;
    return headers;
  }
}
