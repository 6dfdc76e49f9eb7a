import type { z } from 'zod';
import type { RedactionSpec } from '../contracts/config/analyst-spec';
import type { CallRecord } from '../contracts/artifacts/call-record';
import type { BatchOptions } from './batch';
import type { ChangeRateState } from './rate/rate-state';

/** Kinds of calls, which are counted separately. */
type CallKind = 'discover' | 'merge' | 'label' | 'synthesise' | 'read';

/** Tokens that the endpoint billed; zero if it does not say. */
export interface AnalystUsage {
  promptTokens: number;
  completionTokens: number;
  /** Part of promptTokens that came from the endpoint's prefix cache. */
  cachedTokens: number;
}

/** A chat message of a prompt. */
export interface AnalystMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

/** One question to the analyst, whose answer has type T. */
export interface AnalystRequest<T> {
  kind: CallKind;
  /** Hex sha256 of all inputs of the answer; the Idempotency-Key header is derived from it. */
  key: string;
  messages: readonly AnalystMessage[];
  /** Form of the answer: closed objects without optional keys. */
  schema: z.ZodType<T>;
  /**
   * Checks rules that the schema cannot express. If it returns a problem in words, the analyst is asked again; null
   * means no problem.
   */
  check?: (value: T) => string | null;
  signal?: AbortSignal;
  /** Whether the prompt shows a shortened episode; used only for counting. */
  shortened?: boolean;
  /**
   * Whether the call is counted when its record is written (`CallLedger`). Default: it is counted when it is answered,
   * so a killed worker loses the count.
   */
  isRecorded?: boolean;
  /** Among waiting calls, the lowest number goes first. Default 0. */
  priority?: number;
  /**
   * Stores a valid answer. Until this resolves, the call occupies its place in the concurrency limit. So a killed
   * worker loses at most `concurrency` paid answers. If it rejects, `ask` rejects with the same error.
   */
  keep?: (answer: AnalystAnswer<T>) => Promise<void>;
  /**
   * Records that there was no valid answer, which was paid for as well. If this rejects, `ask` rejects with that error
   * instead of the refusal.
   */
  keepRefusal?: (refusal: Refusal) => Promise<void>;
  /** Called for each request: its number, from 1, and its time limit. */
  onSent?: (sent: { tries: number; timeoutMs: number }) => void;
  /** Called for each request whose answer did not come in time. Its tokens are estimated. */
  onLost?: (lost: { promptTokens: number }) => void;
}

/** A valid answer with its cost. */
export interface AnalystAnswer<T> {
  value: T;
  /** Sum over the first answer and all re-asks. */
  usage: AnalystUsage;
  /** Number of answers: 1 plus the re-asks. */
  asks: number;
  /** Number of HTTP requests: asks plus repetitions after failures. */
  tries: number;
  /** Number of replaced values in the prompt, by redaction rule. */
  redacted: Record<string, number>;
  /** The model name in the endpoint's answer. */
  model: string;
}

/** `details[0]` of an Analyst.Malformed failure. */
export interface MalformedDetail extends Omit<Refusal, 'reason'> {
  key: string;
  /** The beginning of the last answer, with placeholders for redacted values. */
  answer: string;
  problems: string;
}

/** Settings of an analyst client. */
export interface AnalystOptions {
  baseUrl: string;
  apiKey: string;
  model: string;
  /** Largest number of parallel calls, over all activities that share this client. */
  concurrency: number;
  /** How often a question is asked again after a malformed answer, with its problems. */
  maxReasks: number;
  /** Time limit for an answer. It doubles after each lost request, up to an hour. */
  timeoutMs: number;
  /**
   * If the caller is cancelled, how long an answer in flight is still awaited, in milliseconds, because it is paid for.
   * Default 10,000.
   */
  answerGraceMs?: number;
  /** How often one call is sent while the endpoint fails or asks to slow down, before `ask` rejects. Default 8. */
  maxTries?: number;
  /** Longest wait, in milliseconds, before a repetition; Temporal handles a longer Retry-After. Default 30 000. */
  maxWaitMs?: number;
  /** First wait, in milliseconds, if the endpoint names none. It doubles each time. Default 500. */
  firstWaitMs?: number;
  /** Longest wait, in milliseconds, if the endpoint names none. Default 8 000. */
  longestWaitMs?: number;
  /** Limits of the endpoint, for all workers together. Default: they are learned from its answers. */
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
  /**
   * Changes the workers' shared knowledge about the endpoint's rate. Default: only this process keeps such knowledge.
   */
  changeRateState?: ChangeRateState | undefined;
  /** Called with a sentence when the change of the rate state fails, and when it works again. */
  onRateTrouble?: ((sentence: string) => void) | undefined;
  /** The rules for values that are replaced before a prompt is sent. Default: none. */
  redaction?: RedactionSpec;
  /** The key of the placeholders' hashes; it comes from this machine's store. */
  redactionSecret?: (() => Promise<string>) | undefined;
}

/** The result of one question of a batch. */
export interface BatchAnswer<T> {
  /** Null: the batch has no valid answer, so the question must be asked directly. */
  answer: AnalystAnswer<T> | null;
  /** Cost of an invalid answer. */
  wasted: AnalystUsage;
}

/** Client of an OpenAI-compatible endpoint that answers in a given form. */
export interface Analyst {
  readonly model: string;
  /**
   * Asks, checks the answer, and asks again with its problems, at most `maxReasks` times.
   * @throws failures Analyst.RateLimited, .Unavailable, .Unauthorised, .BadRequest or .Malformed; CancelledFailure when
   *   the signal fires.
   */
  ask<T>(request: AnalystRequest<T>): Promise<AnalystAnswer<T>>;
  /**
   * Asks many questions through the endpoint's Batch API and waits, which may take hours. If the same questions are
   * asked again, they attach to the same batch. The answers are in the order of the questions.
   * @throws Analyst.BatchFailed if the endpoint has no such API or ends the batch without answers.
   */
  askBatch<T>(requests: readonly AnalystRequest<T>[], options?: BatchOptions): Promise<BatchAnswer<T>[]>;
  /** Writes the counts of the calls so far. */
  flushUsage(): Promise<void>;
  /** The ledger that counts recorded calls. Absent: nobody counts them. */
  readonly ledger?: CallLedger;
}

/**
 * Counts recorded calls. Each call counts once, however often its writer was killed, because the ledger records how
 * many lines of a segment it has counted.
 */
export interface CallLedger {
  /**
   * Reports the content of a segment before its writer continues. Lines that were not counted yet are counted now.
   * @param lines number of lines of the segment, including those without a readable record.
   */
  opened(segment: string, calls: readonly CallRecord[], lines: number): Promise<void>;
  /** Counts a call whose line has been appended to the segment. */
  recorded(segment: string, call: CallRecord): void;
}

/** A question that got no valid answer, with its cost. */
export interface Refusal extends Pick<AnalystAnswer<unknown>, 'usage' | 'asks' | 'tries' | 'redacted'> {
  reason: string;
}
