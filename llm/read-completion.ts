import type { ChatCompletion } from 'openai/resources/chat/completions';

/**
 * A chat completion of what an endpoint answered, in the form of OpenAI's API: its text in one piece, and counts that
 * are numbers. Null for anything else. An answer without a choice is one: it answers this question with nothing.
 */
export function readCompletion(data: unknown): ChatCompletion | null {
  if (!isObject(data) || !Array.isArray(data['choices'])) return null;
  const choice: unknown = (data['choices'] as unknown[])[0];
  const { message, finish_reason: finish } = isObject(choice) ? choice : {};
  const { content, refusal } = isObject(message) ? message : {};
  const usage = isObject(data['usage']) ? data['usage'] : {};
  const details = isObject(usage['prompt_tokens_details']) ? usage['prompt_tokens_details'] : {};
  return {
    ...data,
    model: typeof data['model'] === 'string' ? data['model'] : '',
    choices: [
      {
        message: { content: textOf(content), refusal: typeof refusal === 'string' ? refusal : null },
        finish_reason: finish,
      },
    ],
    usage: {
      prompt_tokens: countOf(usage['prompt_tokens']),
      completion_tokens: countOf(usage['completion_tokens']),
      prompt_tokens_details: { cached_tokens: countOf(details['cached_tokens']) },
    },
  } as unknown as ChatCompletion;
}

/** The text of a content, without the reasoning that some endpoints write as a part of it or in marks before it. */
function textOf(content: unknown): string {
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  const text = parts.map((part) =>
    isObject(part) && !/think|reason/.test(String(part['type'])) ? part['text'] : part,
  );
  return text
    .filter((part) => typeof part === 'string')
    .join('')
    .replace(/^\s*<think>[^]*?<\/think>/, '');
}

/** Some endpoints write numbers as texts. What is no count is not counted. */
function countOf(value: unknown): number {
  const count = typeof value === 'string' || typeof value === 'number' ? Number(value) : 0;
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
