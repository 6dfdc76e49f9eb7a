/** Anthropic's `/v1/messages/count_tokens`, asked of vLLM's `/tokenize`. */
import type { Fields } from '../dialect';
import { messagesToChat } from './request';

/** The route. */
export const COUNT_TOKENS_PATH = '/v1/messages/count_tokens';

/** The request as a conversation whose prompt is to be tokenized. @throws DialectError as for a message. */
export function countToChat(fields: Fields): Fields {
  const { model, messages, tools } = messagesToChat({ ...fields, max_tokens: 1 });
  return { model, messages, ...(tools !== undefined && { tools }) };
}

/** The number in an answer to `/tokenize`; null for anything else. */
export function countIn(answer: unknown): number | null {
  const count = (answer as { count?: unknown } | null)?.count;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

/** The body of the answer. */
export const countedTokens = (count: number): object => ({ input_tokens: count });
