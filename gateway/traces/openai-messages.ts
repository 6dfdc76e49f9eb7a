/** Converts requests and answers of OpenAI's API into messages of a trajectory. */
import { type ChatMessage, chatMessageSchema } from '../../contracts/artifacts/trajectory';

interface WireMessage {
  role?: unknown;
  content?: unknown;
  tool_calls?: unknown;
  tool_call_id?: unknown;
}

/**
 * A message as trajectories have it: text parts are joined, and `developer` becomes `system`. Throws ZodError for a
 * message that is not text.
 */
export function toChatMessage(message: WireMessage): ChatMessage {
  const { content, role, tool_calls: calls, tool_call_id: id } = message;
  const text = Array.isArray(content)
    ? (content as { text?: unknown }[]).map((part) => part.text).join('\n')
    : (content ?? null);
  return chatMessageSchema.parse({
    role: role === 'developer' ? 'system' : role,
    content: text,
    ...(Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls } : {}),
    ...(typeof id === 'string' ? { tool_call_id: id } : {}),
  });
}

/** An answer's message and its numbers of tokens. */
export interface ReadAnswer {
  message: ChatMessage;
  promptTokens: number;
  completionTokens: number;
}

interface Delta {
  content?: string | null;
  tool_calls?: { index: unknown; id?: string; function?: { name?: string; arguments?: string } }[];
}

interface WireAnswer {
  choices?: { index?: number; message?: WireMessage; delta?: Delta }[];
  usage?: { prompt_tokens?: number; completion_tokens?: number } | null;
}

const usageOf = ({ usage }: WireAnswer) => ({
  promptTokens: usage?.prompt_tokens ?? 0,
  completionTokens: usage?.completion_tokens ?? 0,
});

/** Reads the first choice of an answer that was not streamed. Throws when it has none. */
export function readWhole(body: string): ReadAnswer {
  const answer = JSON.parse(body) as WireAnswer;
  return { message: toChatMessage(answer.choices?.[0]?.message ?? {}), ...usageOf(answer) };
}

/** Reads the first choice of a streamed answer from its events. Throws when an event is not valid. */
export function readStream(body: string): ReadAnswer {
  let content = '';
  // A model server names the indexes: they are no places of a list.
  const calls = new Map<number, { id: string; type: 'function'; function: { name: string; arguments: string } }>();
  let usage = { promptTokens: 0, completionTokens: 0 };
  for (const line of body.split('\n')) {
    if (!line.startsWith('data:') || line.includes('[DONE]')) continue;
    const event = JSON.parse(line.slice(5)) as WireAnswer;
    if (event.usage) usage = usageOf(event);
    const delta = event.choices?.find(({ index }) => (index ?? 0) === 0)?.delta;
    content += delta?.content ?? '';
    for (const part of delta?.tool_calls ?? []) {
      const index = callIndex(part.index);
      const call = calls.get(index) ?? { id: '', type: 'function', function: { name: '', arguments: '' } };
      calls.set(index, call);
      call.id += part.id ?? '';
      call.function.name += part.function?.name ?? '';
      call.function.arguments += part.function?.arguments ?? '';
    }
  }
  const message = toChatMessage({
    role: 'assistant',
    content: content === '' && calls.size > 0 ? null : content,
    tool_calls: [...calls].sort(([a], [b]) => a - b).map(([, call]) => call),
  });
  return { message, ...usage };
}

function callIndex(index: unknown): number {
  if (typeof index === 'number' && Number.isSafeInteger(index) && index >= 0) return index;
  throw new RangeError('A tool call of a streamed answer has no index.');
}
