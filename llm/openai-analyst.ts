import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import OpenAI, { APIConnectionTimeoutError, APIError, APIUserAbortError } from 'openai';
import type { ChatCompletion, ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import type { z } from 'zod';
import { hideSecret, hideSecretInJson } from '../contracts/hide-secret';
import { errorInAnswer } from '../contracts/messages/read-error';
import { failure } from '../contracts/typed-failure';
import type {
  Analyst,
  AnalystAnswer,
  AnalystMessage,
  AnalystOptions,
  AnalystRequest,
  AnalystUsage,
  BatchAnswer,
  MalformedDetail,
} from './analyst';
import { afterGrace } from './answer-grace';
import { runBatch, type BatchOptions } from './batch';
import { checkAnswer } from './check-answer';
import {
  failsAtRequest,
  isLost,
  isRefused,
  mayBeOfPrompt,
  ofPromptOnly,
  refusalOfOneQuestion,
  toAnalystFailure,
  type AnalystFailureDetail,
  type AnalystPlace,
} from './errors';
import { ConcurrencyLimiter, sleep, throwIfCancelled } from './limiter';
import { strictJsonSchema } from './json-schema';
import { contentKey } from './content-key';
import { LONGEST_TIMER_MS } from '../contracts/config/milliseconds';
import { startOf, wellFormed } from '../contracts/clean-text';
import { readCompletion } from './read-completion';
import { RateLimiter } from './rate/rate-limiter';
import { Redactor, redactsFor, Replacements } from './redaction';
import { createTransport } from './transport';

/** Makes a client of the analyst endpoint. It has one connection pool, one concurrency limit and one rate limiter. */
export function createAnalyst(options: AnalystOptions): Analyst {
  return new OpenAiAnalyst(options);
}

/** Number of characters of a malformed answer in its failure: Temporal does not accept a failure of megabytes. */
const LONGEST_KEPT = 100_000;
/** A prompt that every endpoint answers, to see whether it takes the rest of a request. */
const OTHER_PROMPT: readonly AnalystMessage[] = [{ role: 'user', content: 'Answer with JSON in the required form.' }];
/** Most tokens of its answer: some for a model that reasons, and few for a form whose answers are long. */
const OTHER_TOKENS = 1_000;
/** Longest wait for an answer, in milliseconds, unless the options name a longer one. */
const LONGEST_TIMEOUT_MS = 3_600_000;

class OpenAiAnalyst implements Analyst {
  readonly model: string;
  private readonly client: OpenAI;
  private readonly limiter: ConcurrencyLimiter;
  private readonly rateLimiter: RateLimiter;
  private redactor: Promise<Redactor | null> | null = null;
  private readonly place: AnalystPlace;
  /** Tokens per character of a prompt: a moving average of the endpoint's counts, starting at a quarter. */
  private tokensPerChar = 0.25;
  private readonly formats = new WeakMap<z.ZodType, Record<string, unknown>>();

  constructor(private readonly options: AnalystOptions) {
    this.model = options.model;
    this.limiter = new ConcurrencyLimiter(options.concurrency);
    this.rateLimiter = new RateLimiter(options);
    this.place = { endpoint: options.baseUrl, model: options.model, apiKey: options.apiKey };
    // This class repeats calls itself: a call must keep its Idempotency-Key, and Temporal must see the failures.
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
      const model = completion.model || this.model;
      if ('value' in rest) return { value: replacements.restore(rest.value), usage, asks, tries, redacted, model };
      if (asks > this.options.maxReasks) {
        const detail: MalformedDetail = {
          key: request.key,
          // In the analyst's words: redacted values are not put back into a failure, because histories keep failures.
          answer: startOf(text, LONGEST_KEPT),
          problems: problems ?? '',
          usage,
          asks,
          tries,
          redacted,
        };
        throw failure(
          'Analyst.Malformed',
          `The analyst (${this.model}) answered ${asks} times, but never in the required form: ${problems}`,
          { details: [detail] },
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
      const completion = readCompletion(outcome.get(request.key));
      if (completion === null) return { answer: null, wasted };
      add(wasted, completion);
      const checked = checkAnswer(completion, request.schema, request.check);
      if (!('value' in checked)) return { answer: null, wasted };
      const value = replacements.restore(checked.value);
      const { counts: redacted } = replacements;
      const model = completion.model || this.model;
      return { answer: { value, usage: wasted, asks: 1, tries: 1, redacted, model }, wasted };
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
      const mapped = toAnalystFailure(error, this.place);
      const { status } = mapped.details?.[0] as AnalystFailureDetail;
      if (status !== 404 && status !== 405) throw mapped;
      throw failure(
        'Analyst.BatchFailed',
        `The analyst at ${this.options.baseUrl} has no Batch API (${status}): set analyst.mode to online.`,
        { cause: mapped },
      );
    }
  }

  flushUsage(): Promise<void> {
    return Promise.resolve();
  }

  /** Copies the messages and replaces the matches of the redaction rules. */
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
   * Gets one answer. Transient failures are retried here, with the same key, so that they do not fail the activity. A
   * lost request is counted and reported, and the next one gets twice the time. With the same time limit, the same
   * answer would be lost again.
   */
  private async complete<T>(
    request: AnalystRequest<T>,
    key: string,
    messages: readonly AnalystMessage[],
    count: () => void,
  ): Promise<ChatCompletion> {
    const { maxTries = 8, maxWaitMs = 30_000, firstWaitMs = 500, longestWaitMs = 8_000 } = this.options;
    const chars = messages.reduce((sum, { content }) => sum + content.length, 0);
    let { timeoutMs } = this.options;
    for (let attempt = 1; ; attempt++) {
      const promptTokens = Math.ceil(chars * this.tokensPerChar);
      await this.rateLimiter.acquire(promptTokens + 100, request.priority ?? 0, request.signal);
      count();
      const onLost = () => {
        request.onLost?.({ promptTokens });
        timeoutMs = Math.max(timeoutMs, Math.min(2 * timeoutMs, LONGEST_TIMEOUT_MS));
      };
      request.onSent?.({ tries: attempt, timeoutMs });
      try {
        const completion = await this.send(request, key, messages, { timeoutMs, onLost });
        const tokens = completion.usage?.prompt_tokens ?? 0;
        if (tokens > 0) this.tokensPerChar += 0.05 * (tokens / chars - this.tokensPerChar);
        return completion;
      } catch (error) {
        if (!(error instanceof ApplicationFailure)) throw error;
        if (error.nonRetryable || (attempt >= maxTries && failsAtRequest(error)))
          throw await this.blame(error, request);
        const asked = typeof error.nextRetryDelay === 'number' ? error.nextRetryDelay : null;
        this.rateLimiter.pushedBack(asked !== null && asked > maxWaitMs ? null : asked);
        if (attempt >= maxTries || (asked ?? 0) > maxWaitMs) throw error;
        // A random wait between half and all of the time, so that calls that failed together are not repeated together.
        const wait = asked ?? Math.min(longestWaitMs, firstWaitMs * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
        await sleep(wait, request.signal);
      }
    }
  }

  /**
   * The failure itself; or, where the endpoint answers another prompt in the same form, that of this prompt alone. So a
   * prompt that it refuses or fails at cannot hold up all others.
   */
  private async blame<T>(error: ApplicationFailure, request: AnalystRequest<T>): Promise<ApplicationFailure> {
    if (!mayBeOfPrompt(error)) return error;
    const { priority = 0, signal, onLost } = request;
    const promptTokens = Math.ceil(OTHER_PROMPT[0]!.content.length * this.tokensPerChar);
    for (const limit of [{ maxTokens: OTHER_TOKENS }, {}]) {
      const key = contentKey(request.key, JSON.stringify([OTHER_PROMPT, limit]));
      await this.rateLimiter.acquire(promptTokens + 100, priority, signal);
      try {
        const answer = await this.send(request, key, OTHER_PROMPT, {
          timeoutMs: this.options.timeoutMs,
          onLost: () => onLost?.({ promptTokens }),
          ...limit,
        });
        return ofPromptOnly(error, usageOf(answer));
      } catch (other) {
        throwIfCancelled(signal);
        // The endpoint may refuse the limit, which no other request has.
        if (!isRefused(other)) return error;
      }
    }
    return error;
  }

  private async send<T>(
    request: AnalystRequest<T>,
    key: string,
    messages: readonly AnalystMessage[],
    { timeoutMs, onLost, maxTokens }: { timeoutMs: number; onLost: () => void; maxTokens?: number },
  ): Promise<ChatCompletion> {
    throwIfCancelled(request.signal);
    const underWay = afterGrace(request.signal, this.options.answerGraceMs ?? 10_000);
    // This code uses its own timer, not the client's: whether a request was lost must not depend on the form of its
    // error.
    const clock = new AbortController();
    const timer = setTimeout(() => clock.abort(), timeoutMs);
    try {
      const { data, response } = await this.client.chat.completions
        .create(this.body(request, messages, maxTokens), {
          headers: { 'Idempotency-Key': key },
          signal: AbortSignal.any([underWay.signal, clock.signal]),
          timeout: Math.min(2 * timeoutMs, LONGEST_TIMER_MS),
        })
        .withResponse();
      // The key is hidden first: a long message is cut, and half a key would not be found.
      const error = errorInAnswer(data) && errorInAnswer(hideSecretInJson(data, this.options.apiKey));
      if (error !== null) throw APIError.generate(error.status, { error }, undefined, response.headers);
      const completion = readCompletion(data);
      if (completion === null) throw this.noCompletion(response.status, data);
      this.rateLimiter.accepted(response.headers);
      return completion;
    } catch (error) {
      throwIfCancelled(request.signal);
      if (error instanceof ApplicationFailure) throw error;
      if (clock.signal.aborted || isLost(error)) onLost();
      if (clock.signal.aborted) throw toAnalystFailure(new APIConnectionTimeoutError(), { ...this.place, timeoutMs });
      if (error instanceof APIUserAbortError) throw new CancelledFailure('The call to the analyst was cancelled.');
      throw toAnalystFailure(error, { ...this.place, timeoutMs });
    } finally {
      clearTimeout(timer);
      underWay.dispose();
    }
  }

  private body<T>(
    request: AnalystRequest<T>,
    messages: readonly AnalystMessage[],
    maxTokens?: number,
  ): ChatCompletionCreateParamsNonStreaming {
    return {
      model: this.model,
      ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
      messages: messages.map((message) => ({
        ...message,
        content: wellFormed(message.content),
      })),
      response_format: {
        type: 'json_schema',
        json_schema: { name: request.kind, strict: true, schema: this.format(request.schema) },
      },
    };
  }

  /**
   * The failure for an answer 200 that is no chat completion, such as a proxy's page. The endpoint failed, not the
   * model, so the call is repeated without a re-ask.
   */
  private noCompletion(status: number, data: unknown): ApplicationFailure {
    const detail: AnalystFailureDetail = { status, code: null };
    const start = startOf(hideSecret(JSON.stringify(data) ?? 'nothing', this.options.apiKey), 120);
    return failure(
      'Analyst.Unavailable',
      `The analyst at ${this.options.baseUrl} answered ${status}, but with no chat completion: ${start}`,
      { details: [detail] },
    );
  }

  private format(schema: z.ZodType): Record<string, unknown> {
    let format = this.formats.get(schema);
    if (!format) this.formats.set(schema, (format = strictJsonSchema(schema)));
    return format;
  }
}

const usageOf = ({ usage }: ChatCompletion): AnalystUsage => ({
  promptTokens: usage?.prompt_tokens ?? 0,
  completionTokens: usage?.completion_tokens ?? 0,
  cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? 0,
});

function add(usage: AnalystUsage, completion: ChatCompletion): void {
  const more = usageOf(completion);
  usage.promptTokens += more.promptTokens;
  usage.completionTokens += more.completionTokens;
  usage.cachedTokens += more.cachedTokens;
}
