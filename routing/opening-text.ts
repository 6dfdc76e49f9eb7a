/** Finds the text by which a conversation is routed. */

/** The part of a message that is read here. Other roles may have any content. */
export interface ReadMessage {
  role: string;
  content: string | null;
  /** Calls of tools, of which only the names are read. */
  tool_calls?: readonly { function: { name: string } }[] | undefined;
}

/**
 * The first user message before the agent has said anything. If there is none, it is the last message that the agent
 * got. The gateway reads a request in the same way. Empty for a conversation without messages.
 */
export function openingText(messages: readonly ReadMessage[]): string {
  const answered = messages.findIndex(({ role }) => role === 'assistant');
  const given = answered < 0 ? messages : messages.slice(0, answered);
  return (given.find(({ role }) => role === 'user') ?? given.at(-1))?.content ?? '';
}
