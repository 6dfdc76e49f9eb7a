import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import OpenAI, { APIUserAbortError } from 'openai';
import type {
  ChatCompletion,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { z } from 'zod';
import type { RedactionSpec } from '../contracts/config/analyst-spec';
import { failure } from '../contracts/typed-failure';
import { runBatch, type BatchOptions } from './batch';
import { checkAnswer } from './check-answer';
import { refusesPromptOnly, toAnalystFailure, type AnalystFailureDetail } from './errors';
import { ConcurrencyLimiter, sleep, throwIfCancelled } from './limiter';
import { strictJsonSchema } from './json-schema';
import { contentKey } from './content-key';
import type { SharedRateState } from './rate/shared-rate-state';
import { RateLimiter } from './rate/rate-limiter';
import { Redactor, redactsFor, Replacements } from './redaction';
import { createTransport } from './transport';

/** Kinds of calls, which are counted separately. */
export const CALL_KINDS = ['discover', 'merge', 'label', 'synthesise'] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** Tokens that the endpoint billed; zero where it does not say. */
export interface AnalystUsage {
  promptTokens: number;
  completionTokens: number;
  /** Part of promptTokens that came from the endpoint's prefix cache. */
  cachedTokens: number;
}

export interface AnalystMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface AnalystRequest<T> {
  kind: CallKind;
  /** Hex sha256 of what the answer depends on; the Idempotency-Key header is derived from it. */
  key: string;
  messages: readonly AnalystMessage[];
  /** Form of the answer: closed objects without optional keys. */
  schema: z.ZodType<T>;
  /** What the schema cannot say: a problem in words, or null. Such an answer is asked again like a malformed one. */
  check?: (value: T) => string | null;
  signal?: AbortSignal;
  /** Whether the prompt shows a shortened episode; only counted. */
  shortened?: boolean;
  /** While calls wait, the lowest number goes first. Default 0. */
  priority?: number;
  /**
   * Stores a valid answer. The question holds its place until this has resolved, so that what a killed worker has paid
   * for and not kept is never more than `concurrency` questions. `ask` rejects with what this rejects with.
   */
  keep?: (answer: AnalystAnswer<T>) => Promise<void>;
  /**
   * As `keep`, for a question that got no valid answer, which was paid for as well. What it rejects with takes the
   * place of the refusal.
   */
  keepRefusal?: (refusal: Refusal) => Promise<void>;
}

export interface AnalystAnswer<T> {
  value: T;
  /** Sum over the first answer and all re-asks. */
  usage: AnalystUsage;
  /** Answers that were needed: 1 plus the re-asks. */
  asks: number;
  /** Requests that were sent: asks plus repetitions after failures. */
  tries: number;
  /** Places in the prompt where a value was replaced, by rule. */
  redacted: Record<string, number>;
  /** Model that the endpoint says it used. */
  model: string;
}

/** `details[0]` of an Analyst.Malformed failure. */
export interface MalformedDetail {
  key: string;
  /** The last answer, as it came. */
  answer: string;
  problems: string;
  usage: AnalystUsage;
  asks: number;
  tries: number;
  redacted: Record<string, number>;
}

export interface AnalystOptions {
  baseUrl: string;
  apiKey: string;
  model: string;
  /** Calls at once, over all activities that share this analyst. */
  concurrency: number;
  /** Times that a malformed answer is asked again with its errors. */
  maxReasks: number;
  timeoutMs: number;
  /** Tries of one call when the endpoint fails or asks to slow down, before the activity fails. Default 8. */
  maxTries?: number;
  /** Longest wait, in milliseconds, before such a try; a longer Retry-After is left to Temporal. Default 30 000. */
  maxWaitMs?: number;
  /** First wait, in milliseconds, when the endpoint names none; it doubles. Default 500. */
  firstWaitMs?: number;
  /** Longest such wait, in milliseconds. Default 8 000. */
  longestWaitMs?: number;
  /** Limits of the endpoint, over all workers; absent: learned. */
  requestsPerMinute?: number | undefined;
  tokensPerMinute?: number | undefined;
  /** Where workers share what they know about the endpoint's rate. Default: this process alone. */
  sharedRateState?: SharedRateState;
  /** What must not leave; the secret comes from this machine's store. Default: nothing is replaced. */
  redaction?: RedactionSpec;
  redactionSecret?: () => Promise<string>;
}

/** What a batch has for one question, in the order of the questions. */
export interface BatchAnswer<T> {
  /** Null: there is none that is valid; it is to be asked in another way. */
  answer: AnalystAnswer<T> | null;
  /** What an answer that is not valid has cost. */
  wasted: AnalystUsage;
}

/** An OpenAI-compatible endpoint that answers in a given form. */
export interface Analyst {
  readonly model: string;
  /**
   * Asks once, checks the answer, and asks again with the problems as often as `maxReasks` allows. Throws failures of
   * the catalogue: Analyst.RateLimited, .Unavailable, .Unauthorised, .BadRequest, .Malformed; CancelledFailure when the
   * signal fires.
   */
  ask<T>(request: AnalystRequest<T>): Promise<AnalystAnswer<T>>;
  /**
   * Asks many questions through the endpoint's Batch API and waits, for hours if need be. The same questions asked
   * again attach to the same batch. Throws Analyst.BatchFailed when the endpoint has no such API or ends the batch
   * without answers.
   */
  askBatch<T>(requests: readonly AnalystRequest<T>[], options?: BatchOptions): Promise<BatchAnswer<T>[]>;
  /** Writes what has been counted about the calls so far. */
  flushUsage(): Promise<void>;
}

/**
 * Client of the analyst endpoint. One instance holds one connection pool, one concurrency limit and one door to the
 * endpoint's rate.
 */
export function createAnalyst(options: AnalystOptions): Analyst {
  return new OpenAiAnalyst(options);
}

class OpenAiAnalyst implements Analyst {
  readonly model: string;
  private readonly client: OpenAI;
  private readonly limiter: ConcurrencyLimiter;
  private readonly rateLimiter: RateLimiter;
  private redactor: Promise<Redactor | null> | null = null;
  /** Tokens of a prompt's character, as the endpoint counts them; a quarter until it has said so. */
  private tokensPerChar = 0.25;
  private readonly formats = new WeakMap<z.ZodType, Record<string, unknown>>();

  constructor(private readonly options: AnalystOptions) {
    this.model = options.model;
    this.limiter = new ConcurrencyLimiter(options.concurrency);
    const { requestsPerMinute, tokensPerMinute, sharedRateState } = options;
    this.rateLimiter = new RateLimiter({
      requestsPerMinute,
      tokensPerMinute,
      ...(sharedRateState === undefined ? {} : { sharedState: sharedRateState }),
    });
    // Retrying is ours: a call must keep its Idempotency-Key, and Temporal must see what fails.
    this.client = new OpenAI({
      baseURL: options.baseUrl,
      apiKey: options.apiKey,
      timeout: options.timeoutMs,
      maxRetries: 0,
      logLevel: 'off',
      fetch: createTransport(options.baseUrl, options.concurrency),
    });
  }

  ask<T>(request: AnalystRequest<T>): Promise<AnalystAnswer<T>> {
    return this.limiter.run(async () => {
      const answer = await this.askInPlace(request).catch(async (error: unknown) => {
        const refusal = refusalOfOneQuestion(error);
        if (refusal) await request.keepRefusal?.(refusal);
        throw error;
      });
      await request.keep?.(answer);
      return answer;
    }, request.priority);
  }

  private async askInPlace<T>(request: AnalystRequest<T>): Promise<AnalystAnswer<T>> {
    const replacements = new Replacements();
    const messages = await this.outgoing(request.messages, replacements);
    const usage: AnalystUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
    const { counts: redacted } = replacements;
    let tries = 0;
    for (let asks = 1; ; asks++) {
      const key = asks === 1 ? request.key : contentKey(request.key, JSON.stringify(messages));
      const completion = await this.complete(request, key, messages, () => tries++);
      add(usage, completion);
      const { text, problems, ...rest } = checkAnswer(completion, request.schema, request.check);
      if ('value' in rest)
        return {
          value: replacements.restore(rest.value),
          usage,
          asks,
          tries,
          redacted,
          model: completion.model || this.model,
        };
      if (asks > this.options.maxReasks) {
        const detail: MalformedDetail = {
          key: request.key,
          answer: replacements.restore(text),
          problems: problems ?? '',
          usage,
          asks,
          tries,
          redacted,
        };
        throw failure(
          'Analyst.Malformed',
          `The analyst (${this.model}) answered ${asks} times, but never in the required form: ${problems}`,
          {
            details: [detail],
          },
        );
      }
      messages.push(
        { role: 'assistant', content: text || '(no answer)' },
        {
          role: 'user',
          content: `That answer is not valid: ${problems}\nAnswer again, with nothing but JSON in the required form.`,
        },
      );
    }
  }

  async askBatch<T>(requests: readonly AnalystRequest<T>[], options: BatchOptions = {}): Promise<BatchAnswer<T>[]> {
    const outgoing = await Promise.all(
      requests.map(async (request) => {
        const replacements = new Replacements();
        return { request, replacements, body: this.body(request, await this.outgoing(request.messages, replacements)) };
      }),
    );
    const outcome = await this.throughBatch(
      outgoing.map(({ request, body }) => ({ key: request.key, body })),
      options,
    );
    return outgoing.map(({ request, replacements }) => {
      const wasted: AnalystUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
      const completion = outcome.get(request.key);
      if (!isCompletion(completion)) return { answer: null, wasted };
      add(wasted, completion);
      const checked = checkAnswer(completion, request.schema, request.check);
      if (!('value' in checked)) return { answer: null, wasted };
      const { counts: redacted } = replacements;
      return {
        answer: {
          value: replacements.restore(checked.value),
          usage: wasted,
          asks: 1,
          tries: 1,
          redacted,
          model: completion.model || this.model,
        },
        wasted,
      };
    });
  }

  private async throughBatch(
    lines: Parameters<typeof runBatch>[1],
    options: BatchOptions,
  ): Promise<Map<string, ChatCompletion>> {
    try {
      const { id, status, errors, completions } = await runBatch(this.client, lines, options);
      if (completions.size > 0 || status === 'completed') return completions;
      throw failure(
        'Analyst.BatchFailed',
        `The batch ${id} of ${lines.length} questions ended as ${status}. ${errors}`.trim(),
      );
    } catch (error) {
      throwIfCancelled(options.signal);
      if (error instanceof ApplicationFailure || error instanceof CancelledFailure) throw error;
      const mapped = toAnalystFailure(error, { endpoint: this.options.baseUrl, model: this.model });
      const { status } = mapped.details?.[0] as AnalystFailureDetail;
      if (status !== 404 && status !== 405) throw mapped;
      throw failure(
        'Analyst.BatchFailed',
        `The analyst at ${this.options.baseUrl} has no Batch API (${status}): set analyst.mode to online.`,
        {
          cause: mapped,
        },
      );
    }
  }

  flushUsage(): Promise<void> {
    return Promise.resolve();
  }

  /** The messages as they leave: a copy, with what must not leave replaced. */
  private async outgoing(messages: readonly AnalystMessage[], replacements: Replacements): Promise<AnalystMessage[]> {
    const { redaction, redactionSecret, baseUrl } = this.options;
    if (!redaction || !redactionSecret || !redactsFor(redaction, baseUrl)) return [...messages];
    this.redactor ??= redactionSecret().then((secret) => new Redactor(redaction, secret));
    const redactor = await this.redactor;
    return messages.map((message) => ({
      ...message,
      content: redactor?.redact(message.content, replacements) ?? message.content,
    }));
  }

  /**
   * One answer; a transient failure is retried here with the same key, so that it costs the calls beside it nothing.
   */
  private async complete<T>(
    request: AnalystRequest<T>,
    key: string,
    messages: readonly AnalystMessage[],
    count: () => void,
  ): Promise<ChatCompletion> {
    const { maxTries = 8, maxWaitMs = 30_000, firstWaitMs = 500, longestWaitMs = 8_000 } = this.options;
    const chars = messages.reduce((sum, { content }) => sum + content.length, 0);
    for (let attempt = 1; ; attempt++) {
      await this.rateLimiter.acquire(
        Math.ceil(chars * this.tokensPerChar) + 100,
        request.priority ?? 0,
        request.signal,
      );
      count();
      try {
        const completion = await this.send(request, key, messages);
        const tokens = completion.usage?.prompt_tokens ?? 0;
        if (tokens > 0) this.tokensPerChar += 0.05 * (tokens / chars - this.tokensPerChar);
        return completion;
      } catch (error) {
        if (!(error instanceof ApplicationFailure) || error.nonRetryable) throw error;
        const asked = typeof error.nextRetryDelay === 'number' ? error.nextRetryDelay : null;
        this.rateLimiter.pushedBack(asked !== null && asked > maxWaitMs ? null : asked);
        if (attempt >= maxTries || (asked ?? 0) > maxWaitMs) throw error;
        // Somewhere in the last half of the time, so that calls that failed together do not come back together.
        const wait = asked ?? Math.min(longestWaitMs, firstWaitMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
        await sleep(wait, request.signal);
      }
    }
  }

  private async send<T>(
    request: AnalystRequest<T>,
    key: string,
    messages: readonly AnalystMessage[],
  ): Promise<ChatCompletion> {
    throwIfCancelled(request.signal);
    try {
      const { data, response } = await this.client.chat.completions
        .create(this.body(request, messages), { headers: { 'Idempotency-Key': key }, signal: request.signal })
        .withResponse();
      if (!isCompletion(data)) throw this.noCompletion(response.status, data);
      this.rateLimiter.accepted(response.headers);
      return data;
    } catch (error) {
      throwIfCancelled(request.signal);
      if (error instanceof ApplicationFailure) throw error;
      if (error instanceof APIUserAbortError) throw new CancelledFailure('The call to the analyst was cancelled.');
      throw toAnalystFailure(error, { endpoint: this.options.baseUrl, model: this.model });
    }
  }

  private body<T>(
    request: AnalystRequest<T>,
    messages: readonly AnalystMessage[],
  ): ChatCompletionCreateParamsNonStreaming {
    return {
      model: this.model,
      messages: messages as ChatCompletionMessageParam[],
      response_format: {
        type: 'json_schema',
        json_schema: { name: request.kind, strict: true, schema: this.format(request.schema) },
      },
    };
  }

  /**
   * A gateway's page or half an answer with status 200 is a failure of the endpoint, not an answer of the model: it is
   * tried again as it was.
   */
  private noCompletion(status: number, data: unknown): ApplicationFailure {
    const detail: AnalystFailureDetail = { status, code: null };
    const start = JSON.stringify(data)?.slice(0, 120) ?? 'nothing';
    return failure(
      'Analyst.Unavailable',
      `The analyst at ${this.options.baseUrl} answered ${status}, but with no chat completion: ${start}`,
      {
        details: [detail],
      },
    );
  }

  private format(schema: z.ZodType): Record<string, unknown> {
    let format = this.formats.get(schema);
    if (!format) this.formats.set(schema, (format = strictJsonSchema(schema)));
    return format;
  }
}

function isCompletion(data: unknown): data is ChatCompletion {
  return (
    typeof data === 'object' &&
    data !== null &&
    Array.isArray((data as ChatCompletion).choices) &&
    (data as ChatCompletion).choices.length > 0
  );
}

function add(usage: AnalystUsage, completion: ChatCompletion): void {
  usage.promptTokens += completion.usage?.prompt_tokens ?? 0;
  usage.completionTokens += completion.usage?.completion_tokens ?? 0;
  usage.cachedTokens += completion.usage?.prompt_tokens_details?.cached_tokens ?? 0;
}

/** A question that got no valid answer, with what it cost. */
export interface Refusal extends Pick<AnalystAnswer<unknown>, 'usage' | 'asks' | 'tries' | 'redacted'> {
  reason: string;
}

/**
 * What refuses this one question and not the next: no valid answer after all re-asks, or a prompt that the endpoint
 * will not take. Null for every other error.
 */
export function refusalOfOneQuestion(error: unknown): Refusal | null {
  if (!(error instanceof ApplicationFailure)) return null;
  if (error.type === 'Analyst.Malformed') {
    const detail = error.details?.[0] as MalformedDetail;
    const { usage, asks, tries, redacted } = detail;
    return { reason: `No valid answer: ${detail.problems}`, usage, asks, tries, redacted };
  }
  const nothing = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
  if (refusesPromptOnly(error)) return { reason: error.message, usage: nothing, asks: 1, tries: 1, redacted: {} };
  return null;
}
