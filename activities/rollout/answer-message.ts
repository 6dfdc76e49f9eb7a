import type { ChatMessage } from '../../contracts/artifacts/trajectory';
import type { ChatAnswer } from './model-client';

/** The runtime refuses a longer list. No agent makes that many calls on purpose. */
const MAX_CALLS_PER_TURN = 64;

/** An answer as the message of a conversation. The ids of its calls depend only on their position. */
export function answerMessage(answer: ChatAnswer, turn: number): ChatMessage {
  const calls = answer.toolCalls
    .slice(0, MAX_CALLS_PER_TURN)
    .map((call, index) => ({ id: `call_${turn}_${index}`, type: 'function' as const, function: call }));
  return {
    role: 'assistant',
    content: answer.content === '' && calls.length > 0 ? null : answer.content,
    // The reasoning is sent back to the server with the next turn, because templates of reasoning models write it
    // between two calls.
    ...(answer.reasoning !== null && { reasoning_content: answer.reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}
