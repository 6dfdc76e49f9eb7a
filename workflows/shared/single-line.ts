import { cleanLine, cleanMarkdown, endOf, wholeWords } from '../../contracts/clean-text';

/**
 * A text as one clean line of at most `most` characters. A longer text keeps whole words of its beginning and its end:
 * the beginning names the failure, and the end has a program's own message.
 */
export const singleLine = (text: string, most: number): string => shortened(cleanLine(text), most);

/** The same with the lines and indentation of a text, such as a traceback; empty lines are left out. */
export const shortLines = (text: string, most: number): string =>
  shortened(
    text
      .split(/\r\n|\r|\n/)
      .flatMap((line) => (cleanLine(line) === '' ? [] : [`${/^ */.exec(line)![0]}${cleanLine(line)}`]))
      .join('\n')
      .trim(),
    most,
  );

function shortened(line: string, most: number): string {
  if (line.length <= most) return line;
  const end = Math.floor(most / 3);
  const tail = endOf(line, end);
  const word = line.at(-tail.length - 1) === ' ' ? 0 : tail.indexOf(' ');
  const words = word < end / 2 ? endOf(tail, tail.length - Math.max(0, word)) : tail;
  return `${wholeWords(line, most - end - 1)} ${words.trimStart()}`;
}

/** Longest name in a summary, in characters: the server takes 400 bytes, and a character may have three. */
const MAX_NAME = 100;

/** A name that somebody else chose as part of a summary, which Temporal's UI reads as Markdown. */
export const nameInSummary = (name: string): string => cleanMarkdown(singleLine(name, MAX_NAME));

/** A span in hours, or in days where it is whole days: `20 hours`, `7 days`. */
export function hoursText(ms: number): string {
  const hours = Number((ms / 3_600_000).toPrecision(3));
  if (hours % 24 === 0) return hours === 24 ? '1 day' : `${hours / 24} days`;
  return hours === 1 ? '1 hour' : `${hours} hours`;
}
