import type { ChatCompletion } from 'openai/resources/chat/completions';
import { z } from 'zod';

/** An answer with what is wrong with it; `value` is there when nothing is. */
export type CheckedAnswer<T> = { text: string; problems: string } | { text: string; problems: null; value: T };

/**
 * Looks at a completion: a refusal, an answer cut off, something that is not JSON, or not in the required form, or that
 * `check` has something against, is a problem in words that the analyst is shown when it is asked again.
 */
export function checkAnswer<T>(
  completion: ChatCompletion,
  schema: z.ZodType<T>,
  check?: (value: T) => string | null,
): CheckedAnswer<T> {
  const choice = completion.choices[0];
  const text = choice?.message?.content ?? '';
  if (choice?.message?.refusal) return { text, problems: `the analyst refused: ${choice.message.refusal}` };
  if (choice?.finish_reason === 'length')
    return { text, problems: 'the answer was cut off at the length limit; answer shorter' };
  if (choice?.finish_reason === 'content_filter')
    return { text, problems: "the answer was stopped by the endpoint's content filter" };
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text));
  } catch (error) {
    return { text, problems: `it is not JSON (${(error as Error).message})` };
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) return { text, problems: z.prettifyError(parsed.error).replace(/\n/g, '; ') };
  const objection = check?.(parsed.data) ?? null;
  return objection === null ? { text, problems: null, value: parsed.data } : { text, problems: objection };
}

/** Endpoints that ignore response_format often wrap their JSON in a Markdown fence. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
}
