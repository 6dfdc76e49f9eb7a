import type { ChatMessage } from '../contracts/artifacts/trajectory';
import { endOf, startOf } from '../contracts/clean-text';

/** How messages are rendered. */
export interface RenderOptions {
  /** Longest content of one message, in characters; the middle of a longer one is left out. */
  maxMessageChars: number;
  /** Whether to leave out system messages, because they are elsewhere in the prompt. Default false. */
  withoutSystem?: boolean;
}

const SIMPLE_NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;

/**
 * Messages as numbered text for the analyst, one block for each:
 *
 *     [0] user: first line
 *         following lines
 *     [1] assistant thinks: Ana has to be found first
 *     [1] assistant calls find_user: {"name":"Ana Ruiz"}
 *     [2] tool: {"user":"U12"}
 *
 * Only these heads begin in the first column. All following lines are indented by four blanks, so that no content can
 * look like a message.
 */
export function renderMessages(messages: readonly ChatMessage[], options: RenderOptions): string {
  return messages
    .map((message, index) =>
      options.withoutSystem && message.role === 'system' ? '' : renderMessage(message, index, options),
    )
    .join('');
}

function renderMessage(message: ChatMessage, index: number, options: RenderOptions): string {
  const calls = message.tool_calls ?? [];
  const text =
    message.content !== null && (message.content !== '' || calls.length === 0)
      ? block(`[${index}] ${message.role}`, message.content, options)
      : '';
  const thoughts = message.reasoning_content
    ? block(`[${index}] ${message.role} thinks`, message.reasoning_content, options)
    : '';
  return (
    thoughts +
    text +
    calls
      .map(({ function: f }) =>
        block(
          `[${index}] ${message.role} calls ${SIMPLE_NAME.test(f.name) ? f.name : JSON.stringify(f.name)}`,
          f.arguments,
          options,
        ),
      )
      .join('')
  );
}

function block(head: string, content: string, { maxMessageChars }: RenderOptions): string {
  return `${head}: ${shorten(content, maxMessageChars).replace(/\r\n|[\r\n\u2028\u2029]/g, '\n    ')}\n`;
}

/** The text; if it is too long, its beginning and end with the number of omitted characters in between. */
export function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const start = startOf(text, maxChars / 2);
  const end = endOf(text, maxChars / 2);
  return `${start} [… ${text.length - start.length - end.length} characters left out …] ${end}`;
}
