import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import OpenAI, { APIUserAbortError } from 'openai';
import type { ChatCompletion, ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { z } from 'zod';
import { refusesPromptOnly, toAnalystFailure } from './errors';
import { failure } from './failure';
import { Limiter, Pause, sleep, throwIfCancelled } from './flow';
import { strictJsonSchema } from './json-schema';
import { contentKey } from './keys';
import { createTransport } from './transport';

/** Kinds of calls, as the ledger counts them. */
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
  signal?: AbortSignal;
}

export interface AnalystAnswer<T> {
  value: T;
  /** Sum over the first answer and all re-asks. */
  usage: AnalystUsage;
  /** Answers that were needed: 1 plus the re-asks. */
  asks: number;
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
  /** Tries of one call when the endpoint fails or asks to slow down, before the activity fails. Default 4. */
  maxTries?: number;
  /** Longest wait, in milliseconds, before such a try; a longer Retry-After is left to Temporal. Default 30 000. */
  maxWaitMs?: number;
  /** First wait, in milliseconds, when the endpoint names none; it doubles. Default 500. */
  firstWaitMs?: number;
}

/** An OpenAI-compatible endpoint that answers in a given form. */
export interface Analyst {
  readonly model: string;
  /**
   * Asks once, checks the answer, and asks again with the problems as often as `maxReasks` allows. Throws failures of the catalogue:
   * Analyst.RateLimited, .Unavailable, .Unauthorised, .BadRequest, .Malformed; CancelledFailure when the signal fires.
   */
  ask<T>(request: AnalystRequest<T>): Promise<AnalystAnswer<T>>;
}

/** Client of the analyst endpoint. One instance holds one connection pool, one concurrency limit and one shared pause. */
export function createAnalyst(options: AnalystOptions): Analyst {
  return new OpenAiAnalyst(options);
}

class OpenAiAnalyst implements Analyst {
  readonly model: string;
  private readonly client: OpenAI;
  private readonly limiter: Limiter;
  private readonly pause = new Pause();
  private readonly formats = new WeakMap<z.ZodType, Record<string, unknown>>();

  constructor(private readonly options: AnalystOptions) {
    this.model = options.model;
    this.limiter = new Limiter(options.concurrency);
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

  async ask<T>(request: AnalystRequest<T>): Promise<AnalystAnswer<T>> {
    const messages = [...request.messages];
    const usage: AnalystUsage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 };
    for (let asks = 1; ; asks++) {
      const key = asks === 1 ? request.key : contentKey(request.key, JSON.stringify(messages));
      const completion = await this.complete(request, key, messages);
      add(usage, completion);
      const { text, parsed, problems } = check(completion, request.schema);
      if (parsed?.success) return { value: parsed.data, usage, asks, model: completion.model || this.model };
      if (asks > this.options.maxReasks) {
        const detail: MalformedDetail = { key: request.key, answer: text, problems, usage, asks };
        throw failure('Analyst.Malformed', `The analyst (${this.model}) answered ${asks} times, but never in the required form: ${problems}`, {
          details: [detail],
        });
      }
      messages.push(
        { role: 'assistant', content: text || '(no answer)' },
        { role: 'user', content: `That answer is not valid: ${problems}\nAnswer again, with nothing but JSON in the required form.` },
      );
    }
  }

  /** One answer; a transient failure is retried here with the same key, so that it costs the calls beside it nothing. */
  private complete<T>(request: AnalystRequest<T>, key: string, messages: readonly AnalystMessage[]): Promise<ChatCompletion> {
    const { maxTries = 4, maxWaitMs = 30_000, firstWaitMs = 500 } = this.options;
    return this.limiter.run(async () => {
      for (let attempt = 1; ; attempt++) {
        await this.pause.over(request.signal);
        try {
          return await this.send(request, key, messages);
        } catch (error) {
          if (!(error instanceof ApplicationFailure) || error.nonRetryable || attempt >= maxTries) throw error;
          const asked = typeof error.nextRetryDelay === 'number' ? error.nextRetryDelay : null;
          const wait = asked ?? firstWaitMs * 2 ** (attempt - 1) * (0.75 + Math.random() / 2);
          if (wait > maxWaitMs) throw error;
          if (error.type === 'Analyst.RateLimited') this.pause.extend(wait);
          await sleep(wait, request.signal);
        }
      }
    });
  }

  private async send<T>(request: AnalystRequest<T>, key: string, messages: readonly AnalystMessage[]): Promise<ChatCompletion> {
    throwIfCancelled(request.signal);
    try {
      return await this.client.chat.completions.create(
        {
          model: this.model,
          messages: messages as ChatCompletionMessageParam[],
          response_format: { type: 'json_schema', json_schema: { name: request.kind, strict: true, schema: this.format(request.schema) } },
        },
        { headers: { 'Idempotency-Key': key }, signal: request.signal },
      );
    } catch (error) {
      throwIfCancelled(request.signal);
      if (error instanceof APIUserAbortError) throw new CancelledFailure('The call to the analyst was cancelled.');
      throw toAnalystFailure(error, { endpoint: this.options.baseUrl, model: this.model });
    }
  }

  private format(schema: z.ZodType): Record<string, unknown> {
    let format = this.formats.get(schema);
    if (!format) this.formats.set(schema, (format = strictJsonSchema(schema)));
    return format;
  }
}

function check<T>(completion: ChatCompletion, schema: z.ZodType<T>) {
  const choice = completion.choices?.[0];
  const text = choice?.message?.content ?? '';
  if (choice?.message?.refusal) return { text, parsed: null, problems: `the analyst refused: ${choice.message.refusal}` };
  if (choice?.finish_reason === 'length') return { text, parsed: null, problems: 'the answer was cut off at the length limit; answer shorter' };
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text));
  } catch (error) {
    return { text, parsed: null, problems: `it is not JSON (${(error as Error).message})` };
  }
  const parsed = schema.safeParse(value);
  return { text, parsed, problems: parsed.success ? '' : z.prettifyError(parsed.error).replace(/\n/g, '; ') };
}

/** Endpoints that ignore response_format often wrap their JSON in a Markdown fence. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
}

function add(usage: AnalystUsage, completion: ChatCompletion): void {
  usage.promptTokens += completion.usage?.prompt_tokens ?? 0;
  usage.completionTokens += completion.usage?.completion_tokens ?? 0;
  usage.cachedTokens += completion.usage?.prompt_tokens_details?.cached_tokens ?? 0;
}

/**
 * What refuses this one question and not the next: no valid answer after all re-asks, or a prompt that the endpoint will not take.
 * Null for every other error.
 */
export function refusalOfOneQuestion(error: unknown): { reason: string; usage: AnalystUsage; asks: number } | null {
  if (!(error instanceof ApplicationFailure)) return null;
  if (error.type === 'Analyst.Malformed') {
    const detail = error.details?.[0] as MalformedDetail;
    return { reason: `No valid answer: ${detail.problems}`, usage: detail.usage, asks: detail.asks };
  }
  if (refusesPromptOnly(error)) return { reason: error.message, usage: { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }, asks: 1 };
  return null;
}
