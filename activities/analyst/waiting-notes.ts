import type { Analyst, AnalystAnswer, AnalystRequest } from '../../llm';

/** Milliseconds of waiting after which a note appears, and between two updates. */
const WORTH_A_WORD_MS = 20_000;
const LOOK_MS = 2_000;

/** A question in flight. */
interface WaitingCall {
  /** Times of its first and its last request, in milliseconds. */
  sinceMs: number;
  sentMs: number;
  tries: number;
  lost: number;
  timeoutMs: number;
}

/**
 * Wraps an analyst so that people see how long a question has waited, how often it was sent, and when it will be sent
 * again. The note shows the longest wait; there is none while answers come quickly.
 * @param setNote shows a line; undefined removes it.
 */
export function withWaitingNotes(analyst: Analyst, setNote: (note: string | undefined) => void): Analyst {
  const calls = new Set<WaitingCall>();
  let isShown = false;
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    const note = waitingNote([...calls], Date.now());
    if (note !== undefined || isShown) setNote(note);
    isShown = note !== undefined;
  };
  const ask = async <T>(request: AnalystRequest<T>): Promise<AnalystAnswer<T>> => {
    let call: WaitingCall | null = null;
    try {
      return await analyst.ask({
        ...request,
        onSent: (sent) => {
          const now = Date.now();
          // A re-ask is a new question; a repetition is the same question.
          if (call === null || sent.tries === 1) {
            if (call !== null) calls.delete(call);
            calls.add((call = { sinceMs: now, sentMs: now, lost: 0, ...sent }));
          } else Object.assign(call, sent, { sentMs: now });
          timer ??= setInterval(look, LOOK_MS);
          request.onSent?.(sent);
        },
        onLost: (lost) => {
          if (call !== null) call.lost++;
          request.onLost?.(lost);
        },
      });
    } finally {
      if (call !== null) calls.delete(call);
      if (calls.size === 0) {
        clearInterval(timer);
        timer = undefined;
        look();
      }
    }
  };
  return {
    model: analyst.model,
    ...(analyst.ledger && { ledger: analyst.ledger }),
    ask,
    askBatch: (requests, options) => analyst.askBatch(requests, options),
    flushUsage: () => analyst.flushUsage(),
  };
}

/** The note about the calls in flight; undefined while none has waited long. */
export function waitingNote(calls: readonly WaitingCall[], now: number): string | undefined {
  const [first, ...rest] = calls;
  if (first === undefined) return undefined;
  const call = rest.reduce((a, b) => (b.sinceMs < a.sinceMs ? b : a), first);
  if (now - call.sinceMs < WORTH_A_WORD_MS) return undefined;
  const others = rest.length === 0 ? '' : `, the longest of ${calls.length} questions`;
  const sent = call.tries === 1 ? '' : `; sent ${call.tries} times, ${call.lost} without an answer in time`;
  return (
    `has waited ${duration(now - call.sinceMs)} for the analyst's answer${others}${sent}; ` +
    `is sent again in ${duration(Math.max(0, call.sentMs + call.timeoutMs - now))}`
  );
}

function duration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
