import type { z } from 'zod';
import type { RedactionSpec } from '../contracts/config/analyst-spec';
import type { CallRecord } from '../contracts/artifacts/call-record';
import type { BatchOptions } from './batch';
import type { ChangeRateState } from './rate/rate-state';

/** Kinds of calls, which are counted separately. */
type CallKind = 'discover' | 'merge' | 'label' | 'synthesise';

/** Tokens that the endpoint billed; zero where it does not say. */
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
  /** Hex sha256 of everything that the answer depends on; the Idempotency-Key header is derived from it. */
  key: string;
  messages: readonly AnalystMessage[];
  /** Form of the answer: closed objects without optional keys. */
  schema: z.ZodType<T>;
  /**
   * Checks the rules that the schema cannot express. Returns a problem in words, and the analyst is asked again; else
   * null.
   */
  check?: (value: T) => string | null;
  signal?: AbortSignal;
  /** Whether the prompt shows a shortened episode; only counted. */
  shortened?: boolean;
  /**
   * Whether the call is counted when its record is written (`CallLedger`). Default: it is counted when it is answered,
   * and a killed worker forgets it.
   */
  isRecorded?: boolean;
  /** While calls wait, the lowest number goes first. Default 0. */
  priority?: number;
  /**
   * Stores a valid answer. The call occupies its place in the concurrency limit until this has resolved: a killed
   * worker then loses at most `concurrency` answers that were paid for. `ask` rejects with what this rejects with.
   */
  keep?: (answer: AnalystAnswer<T>) => Promise<void>;
  /**
   * Stores the fact that there was no valid answer, which was paid for as well. If this rejects, `ask` rejects with
   * that error instead of the refusal.
   */
  keepRefusal?: (refusal: Refusal) => Promise<void>;
  /** Called each time a request is sent: which one it is, from 1, and how long its answer is waited for. */
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
  /** The model that the endpoint says it used. */
  model: string;
}

/** `details[0]` of an Analyst.Malformed failure. */
export interface MalformedDetail extends Omit<Refusal, 'reason'> {
  key: string;
  /** The beginning of the last answer, with placeholders where values were redacted. */
  answer: string;
  problems: string;
}

/** Settings of an analyst client. */
export interface AnalystOptions {
  baseUrl: string;
  apiKey: string;
  model: string;
  /** Most calls at the same time, over all activities that share this client. */
  concurrency: number;
  /** How often a malformed answer is asked again, with its problems. */
  maxReasks: number;
  /** How long an answer is waited for. Twice as long after each request that was lost, up to an hour. */
  timeoutMs: number;
  /**
   * How long an answer that is under way is waited for when its caller is cancelled, in milliseconds: it is paid for.
   * Default 10,000.
   */
  answerGraceMs?: number;
  /** How often one call is sent when the endpoint fails or asks to slow down, before `ask` rejects. Default 8. */
  maxTries?: number;
  /** Longest wait, in milliseconds, before a repetition; a longer Retry-After is left to Temporal. Default 30 000. */
  maxWaitMs?: number;
  /** First wait, in milliseconds, when the endpoint names none. It doubles each time. Default 500. */
  firstWaitMs?: number;
  /** Longest wait, in milliseconds, when the endpoint names none. Default 8 000. */
  longestWaitMs?: number;
  /** Limits of the endpoint, for all workers together. Default: learned from its answers. */
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
  /** Changes the workers' shared knowledge about the endpoint's rate. Default: this process alone keeps it. */
  changeRateState?: ChangeRateState | undefined;
  /** Called with a sentence when the change of the rate state fails, and when it works again. */
  onRateTrouble?: ((sentence: string) => void) | undefined;
  /** The rules for values that are replaced before a prompt is sent. Default: none. */
  redaction?: RedactionSpec;
  /** The key of the placeholders' hashes; it comes from this machine's store. */
  redactionSecret?: (() => Promise<string>) | undefined;
}

/** The outcome of one question of a batch. */
export interface BatchAnswer<T> {
  /** Null: the batch has no valid answer, so the question must be asked online. */
  answer: AnalystAnswer<T> | null;
  /** Cost of an answer that was not valid. */
  wasted: AnalystUsage;
}

/** Client of an OpenAI-compatible endpoint that answers in a given form. */
export interface Analyst {
  readonly model: string;
  /**
   * Asks, checks the answer, and asks again with its problems as often as `maxReasks` allows.
   * @throws failures Analyst.RateLimited, .Unavailable, .Unauthorised, .BadRequest or .Malformed; CancelledFailure when
   *   the signal fires.
   */
  ask<T>(request: AnalystRequest<T>): Promise<AnalystAnswer<T>>;
  /**
   * Asks many questions through the endpoint's Batch API and waits, which may take hours. The same questions asked
   * again attach to the same batch. The answers are in the order of the questions.
   * @throws Analyst.BatchFailed when the endpoint has no such API or ends the batch without answers.
   */
  askBatch<T>(requests: readonly AnalystRequest<T>[], options?: BatchOptions): Promise<BatchAnswer<T>[]>;
  /** Writes the counts of the calls so far. */
  flushUsage(): Promise<void>;
  /** Where recorded calls are counted. Absent: nobody counts them. */
  readonly ledger?: CallLedger;
}

/**
 * Counts recorded calls, each once, however often its writer was killed: the count remembers how many lines of a
 * segment it holds.
 */
export interface CallLedger {
  /**
   * Reports the content of a segment before its writer continues. Lines that were not counted yet are counted now.
   * @param lines number of lines of the segment, those without a readable record too.
   */
  opened(segment: string, calls: readonly CallRecord[], lines: number): Promise<void>;
  /** Counts a call whose line has been appended to the segment. */
  recorded(segment: string, call: CallRecord): void;
}

/** A question that got no valid answer, with its cost. */
export interface Refusal extends Pick<AnalystAnswer<unknown>, 'usage' | 'asks' | 'tries' | 'redacted'> {
  reason: string;
}
