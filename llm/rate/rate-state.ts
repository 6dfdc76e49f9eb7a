import { z } from 'zod';

const perSecond = z.number().nonnegative();

/**
 * The knowledge of all workers about the rate of one endpoint. It is one document, changed by compare-and-swap. Workers
 * take from its buckets before they send, and record in it when the endpoint pushed them back. Times are milliseconds
 * since the epoch; the workers' clocks must agree within about a second.
 */
export const rateStateSchema = z.object({
  /**
   * Number of requests a second that may be sent now; null: no limit is known. It grows slowly while the endpoint
   * accepts requests, and is cut when the endpoint pushes back (AIMD: additive increase, multiplicative decrease).
   */
  limit: perSecond.nullable(),
  /** Ceiling of `limit`, and of tokens a second: from agent.yaml, else from the endpoint's headers; null: unknown. */
  requestCeiling: perSecond.nullable(),
  tokenCeiling: perSecond.nullable(),
  /** Requests and tokens left in the buckets. */
  requests: z.number(),
  tokens: z.number(),
  /** Time when the buckets were last filled. */
  at: z.number(),
  /** Nothing is sent before this time, which the endpoint named in Retry-After. */
  pausedUntil: z.number(),
  /** The current round: answers are counted from `from` on, without the pauses. */
  round: z.object({ from: z.number(), pausedMs: z.number(), accepted: z.number(), pushedBack: z.number() }),
  /** Highest number of accepted requests a second in one round of the last minute. */
  best: z.object({ rate: perSecond, at: z.number() }),
  /** Share of push-backs that remains at a lower rate: faults of the endpoint that our rate does not cause. */
  background: z.number(),
  /** Share of push-backs in the round of the last cut, to see whether that cut helped; null: already judged. */
  shareAtCut: z.number().nullable(),
});
export type RateState = z.infer<typeof rateStateSchema>;

/** A round ends after ROUND_MS if it has at least ENOUGH requests, else after LONGEST_ROUND_MS. */
export const ROUND_MS = 1_000;
const ENOUGH = 20;
const LONGEST_ROUND_MS = 5_000;
/** The bucket holds the limit's requests for this many seconds, so that a burst after a quiet time stays short. */
const BURST_SECONDS = 0.5;
/** The rate is too high if the share of push-backs exceeds the background by this much. */
const TOLERANCE = 0.15;
/** A cut sets the limit to this fraction of the rate that was accepted in the round. */
const CUT = 0.7;
/** The limit grows by this fraction of itself a second, and by at least one request. */
const GROWTH = 0.05;
/** A limit is never cut below this fraction of the best rate of the last minute, nor below LOWEST requests a second. */
const FLOOR = 0.25;
const LOWEST = 0.5;
const BEST_MS = 60_000;
/** A learned limit is dropped when it has grown to this many times the best rate of the last minute. */
const FORGET = 4;

/** The state of an endpoint before its first request. */
export function newRateState(now: number): RateState {
  return {
    limit: null,
    requestCeiling: null,
    tokenCeiling: null,
    requests: 0,
    tokens: 0,
    at: now,
    pausedUntil: 0,
    round: { from: now, pausedMs: 0, accepted: 0, pushedBack: 0 },
    best: { rate: 0, at: now },
    background: 0,
    shareAtCut: null,
  };
}

/**
 * Replaces the rate state that all workers share by `value`, and resolves with `result`. `before` is the stored value,
 * undefined if there was none. The change may run several times if others change the state at the same time.
 */
export type ChangeRateState = <T>(change: (before: unknown) => { value: RateState; result: T }) => Promise<T>;

/** A rate state for only one process. `initial` is its initial value. */
export function inProcessRateState(initial: RateState | null = null): ChangeRateState {
  let held = initial ?? undefined;
  return async (change) => {
    const { value, result } = change(held);
    held = value;
    return result;
  };
}

/** A worker's observations since its last synchronisation with the shared state. */
export interface RateObservations {
  accepted: number;
  /** Answers 429 and 5xx, time-outs, broken connections. */
  pushedBack: number;
  /** Latest time named in a Retry-After; 0: none. */
  pausedUntil: number;
  /** Limits a second in the endpoint's headers; null: none. */
  requestCeiling: number | null;
  tokenCeiling: number | null;
}

/** Adds a worker's observations to the state and closes the round if its time is over. Pure. */
export function withObservations(state: RateState, observed: RateObservations, now: number): RateState {
  const pausedUntil = Math.max(state.pausedUntil, observed.pausedUntil);
  const round = {
    from: state.round.from,
    // A pause that the endpoint asked for says nothing about the rate that it accepts.
    pausedMs: state.round.pausedMs + Math.max(0, pausedUntil - Math.max(now, state.pausedUntil)),
    accepted: state.round.accepted + observed.accepted,
    pushedBack: state.round.pushedBack + observed.pushedBack,
  };
  const requestCeiling = observed.requestCeiling ?? state.requestCeiling;
  const next: RateState = {
    ...state,
    round,
    pausedUntil,
    requestCeiling,
    tokenCeiling: observed.tokenCeiling ?? state.tokenCeiling,
    limit: requestCeiling === null ? state.limit : Math.min(state.limit ?? requestCeiling, requestCeiling),
    // If the endpoint names a limit before anybody exceeded it, the limit begins with a full bucket.
    ...(requestCeiling !== null && state.limit === null
      ? { requests: Math.max(1, requestCeiling * BURST_SECONDS) }
      : {}),
  };
  if (now < pausedUntil) return next;
  const lasted = now - round.from - round.pausedMs;
  return lasted >= (round.accepted + round.pushedBack >= ENOUGH ? ROUND_MS : LONGEST_ROUND_MS)
    ? closeRound(next, now)
    : next;
}

function closeRound(state: RateState, now: number): RateState {
  const { accepted, pushedBack, from, pausedMs } = state.round;
  const seconds = (now - from - pausedMs) / 1000;
  const sent = accepted + pushedBack;
  const rate = accepted / seconds;
  const best = rate >= state.best.rate || now - state.best.at > BEST_MS ? { rate, at: now } : state.best;
  const next: RateState = { ...state, best, round: { from: now, pausedMs: 0, accepted: 0, pushedBack: 0 } };
  if (sent === 0) return next;
  const share = pushedBack / sent;
  const background = backgroundAfter(state, share);
  if (pushedBack >= 2 && share > background + TOLERANCE) {
    const floor = Math.max(LOWEST, FLOOR * best.rate);
    return {
      ...next,
      background,
      limit: Math.max(floor, Math.min(state.limit ?? Infinity, CUT * rate)),
      shareAtCut: share,
    };
  }
  const settled = { ...next, background, shareAtCut: null };
  if (state.limit === null) return settled;
  const grown = state.limit + Math.max(1, GROWTH * state.limit) * seconds;
  if (state.requestCeiling !== null) return { ...settled, limit: Math.min(grown, state.requestCeiling) };
  return { ...settled, limit: grown > FORGET * Math.max(best.rate, 1) ? null : grown };
}

/**
 * The background after a round. Push-backs that a cut did not reduce count as faults of the endpoint. The background
 * fades from round to round, so that a real limit is noticed again.
 */
function backgroundAfter({ background, shareAtCut }: RateState, share: number): number {
  if (shareAtCut !== null && share > 0.7 * shareAtCut) return Math.max(background, Math.min(share, 0.6));
  return background * 0.98;
}

/** Fills the buckets for the elapsed time, then takes up to the wanted amounts from them. Pure. */
export function takeFromBuckets(
  state: RateState,
  wanted: { requests: number; tokens: number },
  now: number,
): { state: RateState; requests: number; tokens: number } {
  const seconds = Math.max(0, now - Math.max(state.at, state.pausedUntil)) / 1000;
  const fill = (level: number, rate: number | null) =>
    rate === null ? Infinity : Math.min(level + rate * seconds, Math.max(1, rate * BURST_SECONDS));
  const held = { requests: fill(state.requests, state.limit), tokens: fill(state.tokens, state.tokenCeiling) };
  const paused = now < state.pausedUntil;
  const requests = paused ? 0 : Math.min(wanted.requests, Math.floor(held.requests));
  // The token bucket may fall below zero: otherwise a call that is larger than the bucket would wait for ever.
  const tokens = paused || held.tokens <= 0 ? 0 : wanted.tokens;
  const finite = (level: number) => (level === Infinity ? 0 : level);
  return {
    state: {
      ...state,
      at: Math.max(now, state.at),
      requests: finite(held.requests - requests),
      tokens: finite(held.tokens - tokens),
    },
    requests,
    tokens,
  };
}
