/** The text by which a conversation is routed. */

/** A message as far as it is read here. Roles that are not read may have any content. */
export interface ReadMessage {
  role: string;
  content: string | null;
}

/**
 * The first user message before the agent has said anything. Without one, the last message that the agent was given.
 * The gateway reads a request in the same way. Empty for a conversation without messages.
 */
export function openingText(messages: readonly ReadMessage[]): string {
  const answered = messages.findIndex(({ role }) => role === 'assistant');
  const given = answered < 0 ? messages : messages.slice(0, answered);
  return (given.find(({ role }) => role === 'user') ?? given.at(-1))?.content ?? '';
}
