import { type ChatMessage, withTexts } from '../../contracts/artifacts/trajectory';
import { endOf, startOf } from '../../contracts/clean-text';
import { renderMessages, type RenderOptions } from '../render-messages';

/** An episode's text, and how much of it was left out. */
export interface FittedEpisode {
  text: string;
  /** Number of messages whose content was left out; 0: the episode is complete. */
  leftOut: number;
}

/** Shorter content is not left out, because the note in its place would be as long. */
const WORTH_CHARS = 120;

/**
 * Renders an episode in at most `maxChars` characters. If it is too long, notes replace contents, the oldest first:
 * first tool results, then the agent's texts and the arguments of its calls, then later texts of the user. Opening
 * messages (everything before the agent's first) are kept. Messages keep their numbers. If that is not enough, the text
 * is cut in the middle. The first line names the parts that were left out.
 */
export function fitEpisode(messages: readonly ChatMessage[], options: RenderOptions, maxChars: number): FittedEpisode {
  const whole = renderMessages(messages, options);
  if (whole.length <= maxChars) return { text: whole, leftOut: 0 };
  const short = [...messages];
  const first = messages.findIndex(({ role }) => role === 'assistant');
  const stages: ((message: ChatMessage, index: number) => boolean)[] = [
    ({ role }) => role === 'tool',
    ({ role }) => role === 'assistant',
    ({ role }, index) => role === 'user' && first !== -1 && index > first,
  ];
  let length = whole.length;
  let leftOut = 0;
  for (const isMeant of stages) {
    for (const [index, message] of messages.entries()) {
      if (length <= maxChars - HEAD_CHARS) break;
      if (!isMeant(message, index)) continue;
      const replaced = withoutContent(message);
      const saved = renderMessages([message], options).length - renderMessages([replaced], options).length;
      if (saved < WORTH_CHARS) continue;
      short[index] = replaced;
      length -= saved;
      leftOut++;
    }
  }
  const head =
    `(This episode was too long: the content of ${leftOut} of its ${messages.length} messages is left out, old ` +
    `tool results first.)\n`;
  const text = head + renderMessages(short, options);
  return { text: text.length <= maxChars ? text : cut(text, maxChars), leftOut: Math.max(1, leftOut) };
}

/** Space for the first line. */
const HEAD_CHARS = 140;

const withoutContent = (message: ChatMessage): ChatMessage =>
  withTexts(message, (text) => (text.length < WORTH_CHARS ? text : `[${text.length} characters left out]`));

/** Of lines that follow the first one of a message. */
const INDENT = '    ';

function cut(text: string, maxChars: number): string {
  const note = '\n    [… characters left out in the middle …]\n';
  const half = Math.max(0, (maxChars - note.length - INDENT.length) / 2);
  const end = endOf(text, half);
  // The rest of a line is no line of its own: it must not pass for a message.
  const indent = text.at(-end.length - 1) === '\n' ? '' : INDENT;
  return startOf(text, half) + note + indent + end;
}
