import { z } from 'zod';

const perSecond = z.number().nonnegative();

/**
 * What all workers know about one endpoint's pace. One document, replaced by compare-and-swap: whoever wants to send
 * takes from it, and whoever was pushed back says so in it. Times are milliseconds since the epoch; the workers' clocks
 * must agree within a second or so.
 */
export const rateStateSchema = z.object({
  /** Requests a second that may be sent now; null: no limit is known. Moves between the endpoint's answers (AIMD). */
  limit: perSecond.nullable(),
  /** Ceiling of `limit` and of tokens a second: from agent.yaml, else from the endpoint's headers; null: unknown. */
  requestCeiling: perSecond.nullable(),
  tokenCeiling: perSecond.nullable(),
  /** What is in the buckets. */
  requests: z.number(),
  tokens: z.number(),
  /** When the buckets were last filled. */
  at: z.number(),
  /** Nothing is sent before: the endpoint's Retry-After. */
  pausedUntil: z.number(),
  /** The round that is being counted. */
  round: z.object({ from: z.number(), pausedMs: z.number(), accepted: z.number(), pushedBack: z.number() }),
  /** Most requests a second that were accepted in one round of the last minute. */
  best: z.object({ rate: perSecond, at: z.number() }),
  /**
   * Share of push-backs that a lower rate does not lower: faults of the endpoint that have nothing to do with our pace.
   */
  background: z.number(),
  /** Share in the round of the last cut, to see whether the cut helped; null: it was looked at. */
  shareAtCut: z.number().nullable(),
});
export type RateState = z.infer<typeof rateStateSchema>;

/**
 * A round is over after this time in milliseconds, and when it has seen enough requests to judge by, or has waited long
 * for them.
 */
export const ROUND_MS = 1_000;
const ENOUGH = 20;
const LONGEST_ROUND_MS = 5_000;
/** Seconds of the limit that the bucket holds: a burst after a quiet time is no longer than this. */
const BURST_SECONDS = 0.5;
/** Share of push-backs, above the background, from which on the pace is too high. */
const TOLERANCE = 0.15;
/** A cut goes to this part of what was accepted in the round. */
const CUT = 0.7;
/** The limit grows by this part of itself a second, and by at least one request. */
const GROWTH = 0.05;
/** A limit is never cut below this part of the best pace of the last minute, nor below one request in two seconds. */
const FLOOR = 0.25;
const LOWEST = 0.5;
const BEST_MS = 60_000;
/** A learned limit that is this many times what the endpoint was ever given is none. */
const FORGET = 4;

/** The state of an endpoint that nobody has spoken to. */
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

/** What a worker has seen since it last looked at the state. */
export interface RateNews {
  accepted: number;
  /** Answers 429 and 5xx, time-outs, broken connections. */
  pushedBack: number;
  /** Latest time that a Retry-After named; 0: none. */
  pausedUntil: number;
  /** Limits a second that the endpoint's headers named; null: none. */
  requestCeiling: number | null;
  tokenCeiling: number | null;
}

/** Puts a worker's news into the state and closes the round when its time is over. Pure. */
export function withNews(state: RateState, news: RateNews, now: number): RateState {
  const pausedUntil = Math.max(state.pausedUntil, news.pausedUntil);
  const round = {
    from: state.round.from,
    // A pause that the endpoint asked for says nothing about its pace.
    pausedMs: state.round.pausedMs + Math.max(0, pausedUntil - Math.max(now, state.pausedUntil)),
    accepted: state.round.accepted + news.accepted,
    pushedBack: state.round.pushedBack + news.pushedBack,
  };
  const requestCeiling = news.requestCeiling ?? state.requestCeiling;
  const next: RateState = {
    ...state,
    round,
    pausedUntil,
    requestCeiling,
    tokenCeiling: news.tokenCeiling ?? state.tokenCeiling,
    limit: requestCeiling === null ? state.limit : Math.min(state.limit ?? requestCeiling, requestCeiling),
    // A limit that is named, and not found by overstepping it, begins with a full bucket.
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
  const background = judged(state, share);
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
 * After a cut that did not help, the push-backs are taken for faults; that belief fades, so that a real limit is seen
 * again.
 */
function judged({ background, shareAtCut }: RateState, share: number): number {
  if (shareAtCut !== null && share > 0.7 * shareAtCut) return Math.max(background, Math.min(share, 0.6));
  return background * 0.98;
}

/** Fills the buckets up to now and takes from them what there is, at most what is wanted. Pure. */
export function take(
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
  // The bucket of tokens may run below zero: a call that is larger than it must not wait for ever.
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
