import { hash } from 'node:crypto';
import type { GatewayKey } from '../contracts/config/gateway-config';
import { ApiError } from './http/errors';

/** A token bucket with the capacity of one minute's requests. */
class MinuteBucket {
  private tokens: number;
  private filledAt = performance.now();

  constructor(private readonly perMinute: number) {
    this.tokens = perMinute;
  }

  /** Takes tokens. Returns the seconds until there are so many when there are not, else null. */
  take(count: number): number | null {
    const now = performance.now();
    this.tokens = Math.min(this.perMinute, this.tokens + ((now - this.filledAt) * this.perMinute) / 60_000);
    this.filledAt = now;
    if (this.tokens < count) return Math.ceil(((count - this.tokens) * 60) / this.perMinute);
    this.tokens -= count;
    return null;
  }
}

/** A client application, with limits on its requests per minute and in flight. */
export class Client {
  private inFlight = 0;
  private readonly requests: MinuteBucket | null;
  private readonly outcomes: MinuteBucket | null;

  constructor(private readonly settings: Omit<GatewayKey, 'sha256'>) {
    const { requestsPerMinute: limit } = settings;
    this.requests = limit === undefined ? null : new MinuteBucket(limit);
    this.outcomes = limit === undefined ? null : new MinuteBucket(limit);
  }

  /** The name in the configuration; `anonymous` if no keys are configured. */
  get name(): string {
    return this.settings.client;
  }

  /** Whether it may use an agent. */
  mayUse(agent: string): boolean {
    return this.settings.agents?.includes(agent) ?? true;
  }

  /** Counts a request. Throws ApiError 429 if a limit is reached. */
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

  /**
   * Counts the further answers that a request asks for, as requests of their own. Throws ApiError 429, and 400 where
   * all of its answers are more than a minute's requests: they would never be allowed.
   */
  enterFurther(answers: number): void {
    const { client, requestsPerMinute: most = Infinity } = this.settings;
    if (answers + 1 > most)
      throw new ApiError(400, `The request asks for ${answers + 1} answers; client ${client} has ${most} a minute.`, {
        code: 'too_many_answers',
      });
    this.takeFrom(this.requests, 'requests', answers);
  }

  /** Counts a posted outcome. There may be as many a minute as requests. Throws ApiError 429. */
  enterOutcome(): void {
    this.takeFrom(this.outcomes, 'outcomes');
  }

  /** Ends a request. Call it once for each `enter` that did not throw. */
  release(): void {
    this.inFlight -= 1;
  }

  private takeFrom(bucket: MinuteBucket | null, what: string, count = 1): void {
    const seconds = bucket?.take(count) ?? null;
    if (seconds === null) return;
    const { client, requestsPerMinute } = this.settings;
    throw new ApiError(429, `Client ${client} has used its ${requestsPerMinute} ${what} a minute.`, {
      code: 'rate_limit_exceeded',
      headers: { 'retry-after': String(seconds) },
    });
  }
}

/** Finds the client of a key. Without configured keys, every request comes from `anonymous`. */
export class Clients {
  private readonly byHash: Map<string, Client>;
  private readonly anonymous = new Client({ client: 'anonymous' });

  constructor(keys: readonly GatewayKey[]) {
    this.byHash = new Map(keys.map((key) => [key.sha256, new Client(key)]));
  }

  /**
   * The client whose key is in the Authorization header. Throws ApiError 401 for a missing or unknown key. It compares
   * hashes, so that its duration reveals nothing about the key.
   */
  identify(authorization: string | undefined): Client {
    if (this.byHash.size === 0) return this.anonymous;
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (key === undefined)
      throw refused('The API key is missing. Send it in the header Authorization: Bearer KEY.', 'missing_api_key');
    const client = this.byHash.get(hash('sha256', key, 'hex'));
    if (client === undefined) throw refused('The API key is not valid.', 'invalid_api_key');
    return client;
  }
}

const refused = (message: string, code: string) =>
  new ApiError(401, message, { code, headers: { 'www-authenticate': 'Bearer' } });
