import { hash } from 'node:crypto';
import type { GatewayKey } from '../contracts/config/gateway-config';
import { ApiError } from './http/errors';

/** A client application. */
export interface Client {
  /** As in the configuration; `anonymous` where no keys are configured. */
  name: string;
  /** Whether it may use an agent. */
  mayUse(agent: string): boolean;
  /** Counts a request. Throws ApiError 429 when a limit is reached. */
  enter(): void;
  /** Counts a posted outcome. There may be as many a minute as requests. Throws ApiError 429. */
  enterOutcome(): void;
  /** Ends a request. Call it once for each `enter` that did not throw. */
  release(): void;
}

const ANONYMOUS: Client = {
  name: 'anonymous',
  mayUse: () => true,
  enter: () => undefined,
  enterOutcome: () => undefined,
  release: () => undefined,
};

/** A token bucket that holds one minute's requests. */
class MinuteBucket {
  private tokens: number;
  private filledAt: number;

  constructor(
    private readonly perMinute: number,
    private readonly now: () => number,
  ) {
    this.tokens = perMinute;
    this.filledAt = now();
  }

  /** Takes a token. Returns the seconds until there is one when there is none, else null. */
  take(): number | null {
    const now = this.now();
    this.tokens = Math.min(this.perMinute, this.tokens + ((now - this.filledAt) * this.perMinute) / 60_000);
    this.filledAt = now;
    if (this.tokens < 1) return Math.ceil(((1 - this.tokens) * 60) / this.perMinute);
    this.tokens -= 1;
    return null;
  }
}

/** Limits requests per minute and counts requests in flight. */
class LimitedClient implements Client {
  readonly name: string;
  private inFlight = 0;
  private readonly requests: MinuteBucket | null;
  private readonly outcomes: MinuteBucket | null;

  constructor(
    private readonly settings: GatewayKey,
    now: () => number,
  ) {
    const { client, requestsPerMinute: limit } = settings;
    this.name = client;
    this.requests = limit === undefined ? null : new MinuteBucket(limit, now);
    this.outcomes = limit === undefined ? null : new MinuteBucket(limit, now);
  }

  mayUse(agent: string): boolean {
    return this.settings.agents?.includes(agent) ?? true;
  }

  enter(): void {
    const { concurrent } = this.settings;
    if (concurrent !== undefined && this.inFlight >= concurrent) {
      throw new ApiError(429, `Client ${this.name} has ${concurrent} requests in flight, which is its limit.`, {
        code: 'concurrency_limit_exceeded',
        headers: { 'retry-after': '1' },
      });
    }
    this.takeFrom(this.requests, 'requests');
    this.inFlight += 1;
  }

  enterOutcome(): void {
    this.takeFrom(this.outcomes, 'outcomes');
  }

  release(): void {
    this.inFlight -= 1;
  }

  private takeFrom(bucket: MinuteBucket | null, what: string): void {
    const seconds = bucket?.take() ?? null;
    if (seconds === null) return;
    const { client, requestsPerMinute } = this.settings;
    throw new ApiError(429, `Client ${client} has used its ${requestsPerMinute} ${what} a minute.`, {
      code: 'rate_limit_exceeded',
      headers: { 'retry-after': String(seconds) },
    });
  }
}

/** Finds the client that a key belongs to. Without configured keys, every request comes from `anonymous`. */
export class Clients {
  private readonly byHash: Map<string, Client>;

  constructor(keys: readonly GatewayKey[], now: () => number = () => performance.now()) {
    this.byHash = new Map(keys.map((key) => [key.sha256, new LimitedClient(key, now)]));
  }

  /**
   * The client whose key the Authorization header has. Throws ApiError 401 for a missing or unknown key. It compares
   * hashes, so that its duration reveals nothing about the key.
   */
  identify(authorization: string | undefined): Client {
    if (this.byHash.size === 0) return ANONYMOUS;
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (key === undefined) {
      throw new ApiError(401, 'The API key is missing. Send it in the header Authorization: Bearer KEY.', {
        code: 'missing_api_key',
        headers: { 'www-authenticate': 'Bearer' },
      });
    }
    const client = this.byHash.get(hash('sha256', key, 'hex'));
    if (client === undefined)
      throw new ApiError(401, 'The API key is not valid.', {
        code: 'invalid_api_key',
        headers: { 'www-authenticate': 'Bearer' },
      });
    return client;
  }
}
