import { z } from 'zod';
import { startOf } from '../../contracts/clean-text';
import { hideSecret, hideSecretInJson } from '../../contracts/hide-secret';
import { errorInAnswer } from '../../contracts/messages/read-error';
import type { ChatAnswer } from './model-client';
import type { SampledTokens } from './token-rows';
import { ADDRESS_HINT, faultOfAnswer, ModelFault } from './model-errors';

/** How an answer ends at the limit of tokens: words of OpenAI, Anthropic, Gemini, Mistral and Z.AI. */
const CUT = /^(?:length|max_tokens|max_output_tokens|model_length|model_context_window_exceeded)$/i;

const textSchema = z.string().nullish().catch(null);
/** Text, or the parts that some servers write it in; reasoning may be among them. */
const contentSchema = z.union([
  z.string().transform((content) => ({ content, thought: '' })),
  z
    .array(
      z.union([
        z.string(),
        z.object({ type: textSchema, text: textSchema, refusal: textSchema, thinking: z.unknown().optional() }),
      ]),
    )
    .transform((parts) => {
      const read = { content: '', thought: '' };
      for (const part of parts) {
        if (typeof part === 'string') read.content += part;
        else if (/think|reason/.test(part.type ?? '')) read.thought += textOf(part.thinking) || (part.text ?? '');
        else read.content += part.text ?? part.refusal ?? '';
      }
      return read;
    }),
]);
/** Servers also write no arguments as null or as empty text, and some write the object itself. */
const argumentsSchema = z
  .unknown()
  .optional()
  .transform((given) => (typeof given === 'string' ? given : given == null ? '' : JSON.stringify(given)))
  .transform((text) => (text.trim() ? text : '{}'));
const callSchema = z.object({ name: z.string(), arguments: argumentsSchema });
const messageSchema = z.object({
  content: contentSchema.nullish(),
  refusal: textSchema,
  // vLLM has used either name; other servers may mean something else by them.
  reasoning_content: textSchema,
  reasoning: textSchema,
  tool_calls: z.array(z.object({ function: callSchema })).nullish(),
  // Before there were lists of calls.
  function_call: callSchema.nullish().catch(null),
});
const tokenSchema = z.object({ token: z.string(), logprob: z.number() });
/** Counts of tokens that make no sense count as not sent. */
const countSchema = z.coerce.number().int().nonnegative().catch(0);
const completionSchema = z.object({
  choices: z
    .array(
      z.object({
        index: z.unknown().optional(),
        // Gemini leaves it out where the model said nothing.
        message: messageSchema.nullish(),
        delta: z.undefined().optional(),
        text: z.undefined().optional(),
        finish_reason: textSchema,
        token_ids: z.unknown().optional(),
        logprobs: z
          .object({
            content: z
              .array(z.object({ logprob: z.unknown().optional(), top_logprobs: z.array(z.unknown()).nullish() }))
              .nullish(),
          })
          .nullish()
          .catch(null),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: countSchema, completion_tokens: countSchema }).nullish().catch(null),
  system_fingerprint: textSchema,
  prompt_token_ids: z.unknown().optional(),
});

/**
 * Reads an answer 2xx to a request for a chat completion. `key` is not repeated in messages.
 * @throws ModelFault for anything else than a completion, and for a completion that broke off at the server.
 */
export function readCompletion(answer: unknown, url: string, key: string | undefined): ChatAnswer {
  if (errorInAnswer(answer) !== null) {
    // The key is hidden first: a long message is cut, and half a key would not be found.
    const { status, message, code } = errorInAnswer(hideSecretInJson(answer, key))!;
    throw faultOfAnswer({ status, body: JSON.stringify({ message, code }) }, url);
  }
  const parsed = completionSchema.safeParse(answer);
  if (!parsed.success) throw noCompletion(answer, parsed.error, url, key);
  const { choices, usage, system_fingerprint: fingerprint } = parsed.data;
  const choice = choices.find(({ index }) => index === 0) ?? choices[0]!;
  const { message, logprobs, finish_reason: finish } = choice;
  const tokens = tokensIn(
    parsed.data.prompt_token_ids,
    choice.token_ids,
    logprobs?.content?.map(({ logprob }) => logprob),
  );
  const { content, refusal, reasoning_content, reasoning, tool_calls: calls, function_call: call } = message ?? {};
  return {
    content: content?.content || refusal || (content?.content ?? null),
    reasoning: (reasoning_content ?? reasoning) || content?.thought || null,
    cut: CUT.test(finish ?? ''),
    toolCalls: calls?.length ? calls.map((one) => one.function) : call ? [call] : [],
    promptTokens: usage?.prompt_tokens ?? 0,
    completionTokens: usage?.completion_tokens ?? 0,
    firstToken: (logprobs?.content?.[0]?.top_logprobs ?? []).flatMap((one) => tokenSchema.safeParse(one).data ?? []),
    ...(tokens !== null && { tokens }),
    fingerprint: fingerprint ?? null,
  };
}

/** Tokens in vLLM's form; null unless all are there and each sampled one has a log-probability. */
function tokensIn(prompt: unknown, answer: unknown, logprobs: unknown[] | undefined): SampledTokens | null {
  if (!isIds(prompt) || !isIds(answer) || logprobs?.length !== answer.length) return null;
  return logprobs.every(isLogprob) ? { prompt, answer, logprobs } : null;
}

/** They are kept as 32-bit floats, where what is too large becomes infinite: trainers read no file with such a one. */
const isLogprob = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(Math.fround(value));

const isIds = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((id) => Number.isInteger(id) && (id as number) >= 0 && (id as number) < 2 ** 31);

/**
 * The fault for an answer 2xx that is no chat completion. What is no JSON is a page of a proxy, or the beginning of an
 * answer: it may pass.
 */
function noCompletion(answer: unknown, problem: z.ZodError, url: string, key: string | undefined): ModelFault {
  const isText = typeof answer === 'string';
  const what = isText
    ? `It begins ${JSON.stringify(startOf(hideSecret(answer, key), 120))}. ${ADDRESS_HINT}`
    : startOf(z.prettifyError(problem), 300);
  return new ModelFault(
    isText ? 'failed' : 'conversation',
    `The model server at ${url} answered with no chat completion: ${what}`,
  );
}

/** The text of reasoning, which is a text or a list of parts. */
function textOf(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking;
  const parts = Array.isArray(thinking) ? (thinking as ({ text?: unknown } | null)[]) : [];
  return parts.map((part) => (typeof part?.text === 'string' ? part.text : '')).join('');
}
