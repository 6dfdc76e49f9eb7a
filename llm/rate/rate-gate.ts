import { throwIfCancelled } from '../flow';
import { changeState, privateBoard, type RateBoard } from './rate-board';
import { take, withNews, type RateNews, type RateState } from './rate-state';

/** Milliseconds between two looks at the board: while there is a limit, and while there is none. */
const SYNC_MS = 250;
const QUIET_SYNC_MS = 1_000;

export interface RateGateOptions {
  /** From agent.yaml; undefined: learned. */
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
  board?: RateBoard;
}

interface Waiter {
  tokens: number;
  turn: number;
  resolve: () => void;
}

const noNews = (): RateNews => ({
  accepted: 0,
  pushedBack: 0,
  pausedUntil: 0,
  requestCeiling: null,
  tokenCeiling: null,
});

/**
 * The door that every request to one endpoint passes. All workers take their requests and tokens from one bucket on a
 * shared board, in portions for a quarter of a second, so that together they keep the endpoint's limits. As long as no
 * limit is known, it is open.
 */
export class RateGate {
  private readonly board: RateBoard;
  private readonly configured: Pick<RateNews, 'requestCeiling' | 'tokenCeiling'>;
  private news = noNews();
  private waiters: Waiter[] = [];
  private limited: boolean;
  private pausedUntil = 0;
  private requests = 0;
  private tokens = 0;
  private syncing = false;
  private timer: NodeJS.Timeout | null = null;
  private lastSync = 0;

  constructor({ requestsPerMinute, tokensPerMinute, board }: RateGateOptions = {}) {
    this.board = board ?? privateBoard();
    const perSecond = (perMinute: number | undefined) => (perMinute === undefined ? null : perMinute / 60);
    this.configured = { requestCeiling: perSecond(requestsPerMinute), tokenCeiling: perSecond(tokensPerMinute) };
    this.limited = requestsPerMinute !== undefined || tokensPerMinute !== undefined;
  }

  /**
   * Resolves when a request of about so many tokens may be sent; a lower turn goes first. Throws CancelledFailure when
   * the signal fires before.
   */
  async enter(tokens: number, turn: number, signal?: AbortSignal): Promise<void> {
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
      const waiter: Waiter = { tokens, turn, resolve: () => (signal?.removeEventListener('abort', leave), resolve()) };
      signal?.addEventListener('abort', leave);
      const at = this.waiters.findIndex((other) => other.turn > turn);
      this.waiters.splice(at === -1 ? this.waiters.length : at, 0, waiter);
      this.serve();
      if (this.waiters.length > 0) this.syncSoon(SYNC_MS / 5);
    });
    throwIfCancelled(signal);
  }

  /** The endpoint answered; what its headers say about limits is kept where agent.yaml says nothing. */
  accepted(headers?: Headers): void {
    this.news.accepted++;
    const named = (name: string) => {
      const value = Number(headers?.get(name) ?? Number.NaN);
      return value > 0 ? value / 60 : null;
    };
    this.news.requestCeiling = named('x-ratelimit-limit-requests') ?? this.news.requestCeiling;
    this.news.tokenCeiling = named('x-ratelimit-limit-tokens') ?? this.news.tokenCeiling;
  }

  /**
   * The endpoint failed or asked to slow down, perhaps for a time in milliseconds. Nobody sends before that time is
   * over.
   */
  pushedBack(retryAfterMs: number | null): void {
    this.news.pushedBack++;
    if (retryAfterMs !== null)
      this.news.pausedUntil = this.pausedUntil = Math.max(this.pausedUntil, Date.now() + retryAfterMs);
    this.syncSoon(SYNC_MS / 5);
  }

  private isOpen(): boolean {
    return !this.limited && this.waiters.length === 0 && Date.now() >= this.pausedUntil;
  }

  /** Lets in whoever the portion in hand allows. */
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
   * Tells the board what was seen and takes the next portion. While the board cannot be changed, calls under a limit
   * wait, and the news is kept.
   */
  private async sync(): Promise<void> {
    this.syncing = true;
    const news = { ...this.news, ...known(this.configured) };
    this.news = noNews();
    const wanted = {
      requests: Math.max(0, this.waiters.length - Math.max(0, this.requests)),
      tokens: this.waiters.reduce((sum, { tokens }) => sum + tokens, 0),
    };
    try {
      const { state, result } = await changeState(this.board, (before) => {
        const now = Date.now();
        const { state: after, ...granted } = take(withNews(before, news, now), wanted, now);
        return { state: after, result: granted };
      });
      this.adopt(state, result);
    } catch {
      this.news = added(this.news, news);
    } finally {
      this.syncing = false;
      this.lastSync = Date.now();
      this.serve();
      if (this.waiters.length > 0 || (this.limited && this.news.accepted + this.news.pushedBack > 0))
        this.syncSoon(SYNC_MS);
    }
  }

  private adopt(state: RateState, granted: { requests: number; tokens: number }): void {
    this.limited = state.limit !== null || state.tokenCeiling !== null;
    this.pausedUntil = Math.max(this.pausedUntil, state.pausedUntil);
    this.requests = Math.max(0, this.requests) + granted.requests;
    this.tokens =
      state.tokenCeiling === null ? Infinity : Math.max(0, this.tokens === Infinity ? 0 : this.tokens) + granted.tokens;
  }
}

const known = (ceilings: Pick<RateNews, 'requestCeiling' | 'tokenCeiling'>) =>
  Object.fromEntries(Object.entries(ceilings).filter(([, value]) => value !== null));

const added = (a: RateNews, b: RateNews): RateNews => ({
  accepted: a.accepted + b.accepted,
  pushedBack: a.pushedBack + b.pushedBack,
  pausedUntil: Math.max(a.pausedUntil, b.pausedUntil),
  requestCeiling: a.requestCeiling ?? b.requestCeiling,
  tokenCeiling: a.tokenCeiling ?? b.tokenCeiling,
});
