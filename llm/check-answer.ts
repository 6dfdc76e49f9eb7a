import type { ChatCompletion } from 'openai/resources/chat/completions';
import { z } from 'zod';

/** The text of an answer, with either its problems or its value. */
export type CheckedAnswer<T> = { text: string; problems: string } | { text: string; problems: null; value: T };

/**
 * Checks a completion. A problem in words results from a refusal and from an answer that is cut off, is not JSON, does
 * not match the schema or fails `check`. The analyst sees the problem when it is asked again.
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
    value = JSON.parse(withoutFence(text).trim());
  } catch (error) {
    return { text, problems: `it is not JSON (${(error as Error).message})` };
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) return { text, problems: z.prettifyError(parsed.error).replace(/\n/g, '; ') };
  const objection = check?.(parsed.data) ?? null;
  return objection === null ? { text, problems: null, value: parsed.data } : { text, problems: objection };
}

/** A Markdown fence, which need not be closed. No line of JSON begins with backticks. */
const FENCED = /^[ \t]*```(?:json)?[ \t]*\r?\n([^]*?)(?:^[ \t]*```[ \t]*\r?$|$(?![^]))/gim;

/** The JSON in a Markdown fence, because endpoints that ignore response_format often write one, and words around it. */
function withoutFence(text: string): string {
  const [found, ...others] = text.matchAll(FENCED);
  return found === undefined || others.length > 0 ? text : found[1]!;
}
