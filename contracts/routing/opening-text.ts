/** The text by which a conversation is routed. */

/**
 * The first user message before the agent has said anything; without one, the last message that it was given. The
 * gateway reads a request in the same way. Empty for a conversation without messages.
 */
export function openingText(messages: readonly { role: string; content: string | null }[]): string {
  const answered = messages.findIndex(({ role }) => role === 'assistant');
  const given = answered < 0 ? messages : messages.slice(0, answered);
  return (given.find(({ role }) => role === 'user') ?? given.at(-1))?.content ?? '';
}
