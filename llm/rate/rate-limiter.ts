import { throwIfCancelled } from '../limiter';
import {
  inProcessRateState,
  newRateState,
  rateStateSchema,
  takeFromBuckets,
  withObservations,
  type ChangeRateState,
  type RateObservations,
  type RateState,
} from './rate-state';

/** Milliseconds between two synchronisations with the shared state: with a limit, and without one. */
const SYNC_MS = 250;
const QUIET_SYNC_MS = 1_000;

/** Limits of an endpoint, and the shared state of its workers. */
export interface RateLimiterOptions {
  /** From agent.yaml. Undefined: learned from the endpoint's answers. */
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
  /** Changes the state that workers share. Default: only this process keeps a state. */
  changeRateState?: ChangeRateState | undefined;
  /** Called with a sentence when that fails, and when it works again. */
  onRateTrouble?: ((sentence: string) => void) | undefined;
}

interface Waiter {
  tokens: number;
  priority: number;
  resolve: () => void;
}

const noObservations = (): RateObservations => ({
  accepted: 0,
  pushedBack: 0,
  pausedUntil: 0,
  requestCeiling: null,
  tokenCeiling: null,
});

/**
 * Rate limiter for all requests to one endpoint. All workers take requests and tokens from one shared bucket, in
 * portions for a quarter of a second, so that together they stay within the endpoint's limits. As long as no limit is
 * known, every request passes at once.
 */
export class RateLimiter {
  private readonly changeShared: ChangeRateState;
  private readonly onTrouble: (sentence: string) => void;
  /** Replaces the shared state while that fails; null while it works. */
  private changeOwn: ChangeRateState | null = null;
  private readonly configured: Pick<RateObservations, 'requestCeiling' | 'tokenCeiling'>;
  private observed = noObservations();
  private waiters: Waiter[] = [];
  private limited: boolean;
  /** The state at the last synchronisation. */
  private last: RateState | null = null;
  private pausedUntil = 0;
  private requests = 0;
  private tokens = 0;
  private syncing = false;
  private timer: NodeJS.Timeout | null = null;
  private lastSync = 0;

  constructor({ requestsPerMinute, tokensPerMinute, changeRateState, onRateTrouble }: RateLimiterOptions = {}) {
    this.changeShared = changeRateState ?? inProcessRateState();
    this.onTrouble = onRateTrouble ?? (() => undefined);
    const perSecond = (perMinute: number | undefined) => (perMinute === undefined ? null : perMinute / 60);
    this.configured = { requestCeiling: perSecond(requestsPerMinute), tokenCeiling: perSecond(tokensPerMinute) };
    this.limited = requestsPerMinute !== undefined || tokensPerMinute !== undefined;
  }

  /**
   * Resolves when a request of about this many tokens may be sent. Among waiting requests the lowest priority number
   * goes first. Throws CancelledFailure if the signal fires earlier.
   */
  async acquire(tokens: number, priority: number, signal?: AbortSignal): Promise<void> {
    throwIfCancelled(signal);
    if (this.isOpen()) {
      if (Date.now() - this.lastSync > QUIET_SYNC_MS) this.syncSoon(0);
      return;
    }
    await new Promise<void>((resolve) => {
      const leave = () => {
        this.waiters = this.waiters.filter((other) => other !== waiter);
        resolve();
      };
      const waiter: Waiter = {
        tokens,
        priority,
        resolve: () => (signal?.removeEventListener('abort', leave), resolve()),
      };
      signal?.addEventListener('abort', leave);
      const at = this.waiters.findIndex((other) => other.priority > priority);
      this.waiters.splice(at === -1 ? this.waiters.length : at, 0, waiter);
      this.serve();
      if (this.waiters.length > 0) this.syncSoon(SYNC_MS / 5);
    });
    throwIfCancelled(signal);
  }

  /** Records that the endpoint answered. Limits in its headers count if agent.yaml sets none. */
  accepted(headers?: Headers): void {
    this.observed.accepted++;
    const named = (name: string) => {
      const value = Number(headers?.get(name) ?? Number.NaN);
      return value > 0 ? value / 60 : null;
    };
    this.observed.requestCeiling = named('x-ratelimit-limit-requests') ?? this.observed.requestCeiling;
    this.observed.tokenCeiling = named('x-ratelimit-limit-tokens') ?? this.observed.tokenCeiling;
  }

  /**
   * Records that the endpoint failed or asked to slow down. If it named a time (in milliseconds), no worker sends
   * before that time has passed.
   */
  pushedBack(retryAfterMs: number | null): void {
    this.observed.pushedBack++;
    if (retryAfterMs !== null)
      this.observed.pausedUntil = this.pausedUntil = Math.max(this.pausedUntil, Date.now() + retryAfterMs);
    this.syncSoon(SYNC_MS / 5);
  }

  private isOpen(): boolean {
    return !this.limited && this.waiters.length === 0 && Date.now() >= this.pausedUntil;
  }

  /** Releases as many waiting requests as the current portion allows. */
  private serve(): void {
    if (Date.now() < this.pausedUntil) return;
    while (this.waiters.length > 0 && (!this.limited || (this.requests >= 1 && this.tokens > 0))) {
      const waiter = this.waiters.shift() as Waiter;
      this.requests--;
      this.tokens -= waiter.tokens;
      waiter.resolve();
    }
  }

  private syncSoon(ms: number): void {
    if (this.timer !== null || this.syncing) return;
    const wait = Math.max(ms, this.pausedUntil - Date.now(), this.lastSync + SYNC_MS / 2 - Date.now());
    this.timer = setTimeout(() => {
      this.timer = null;
      void this.sync();
    }, wait);
    this.timer.unref();
  }

  /**
   * Adds the observations to the shared state and takes the next portion. While the shared state cannot be read or
   * changed, this process keeps the pace by itself, starting from its last knowledge. So a full disk does not stop the
   * calls.
   */
  private async sync(): Promise<void> {
    this.syncing = true;
    const observed = { ...this.observed, ...known(this.configured) };
    this.observed = noObservations();
    const wanted = {
      requests: Math.max(0, this.waiters.length - Math.max(0, this.requests)),
      tokens: this.waiters.reduce((sum, { tokens }) => sum + tokens, 0),
    };
    const take = async (changeState: ChangeRateState): Promise<void> =>
      this.adopt(
        await changeState((before) => {
          const now = Date.now();
          const state = rateStateSchema.safeParse(before).data ?? newRateState(now);
          const taken = takeFromBuckets(withObservations(state, observed, now), wanted, now);
          return { value: taken.state, result: taken };
        }),
      );
    try {
      await take(this.changeShared);
      if (this.changeOwn !== null) this.onTrouble('The shared pace of the analyst endpoint is kept again.');
      this.changeOwn = null;
    } catch (error) {
      if (this.changeOwn === null) {
        this.changeOwn = inProcessRateState(this.last);
        this.onTrouble(
          `The shared pace of the analyst endpoint cannot be kept (${(error as Error).message}): ` +
            'this worker keeps a pace of its own until it can.',
        );
      }
      await take(this.changeOwn);
    } finally {
      this.syncing = false;
      this.lastSync = Date.now();
      this.serve();
      if (this.waiters.length > 0 || (this.limited && this.observed.accepted + this.observed.pushedBack > 0))
        this.syncSoon(SYNC_MS);
    }
  }

  private adopt({ state, ...granted }: ReturnType<typeof takeFromBuckets>): void {
    this.last = state;
    this.limited = state.limit !== null || state.tokenCeiling !== null;
    this.pausedUntil = Math.max(this.pausedUntil, state.pausedUntil);
    this.requests = Math.max(0, this.requests) + granted.requests;
    this.tokens =
      state.tokenCeiling === null ? Infinity : Math.max(0, this.tokens === Infinity ? 0 : this.tokens) + granted.tokens;
  }
}

const known = (ceilings: Pick<RateObservations, 'requestCeiling' | 'tokenCeiling'>) =>
  Object.fromEntries(Object.entries(ceilings).filter(([, value]) => value !== null));
