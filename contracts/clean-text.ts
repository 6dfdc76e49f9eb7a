/**
 * Text that others wrote (generated code, models, logs, agent.yaml) on its way to a reader: a terminal, Markdown, HTML.
 * Imports nothing, because workflow code uses it.
 */

/**
 * Invisible characters, and characters that change how others are shown: both sets of control characters except newline
 * and tab, direction marks, separators that only some programs treat as line ends, spaces, letters and marks without a
 * shape, invisible tags, and halves of surrogate pairs. Joiners between characters beyond ASCII stay, because scripts
 * and emoji need them, and so do the selectors of emoji.
 */
const HIDDEN = new RegExp(
  [
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b',
    '\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0d\\ufeff\\uffa0\\ufff9-\\ufffb',
    '\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}\\p{Cs}]',
    '|(?<=[\\u0000-\\u007f]|^)[\\u200c\\u200d]|[\\u200c\\u200d](?=[\\u0000-\\u007f]|$)',
  ].join(''),
  'gu',
);
/** Colours, which are frequent in logs. */
const COLOURS = /\u001b\[[0-9;]*m/g;
/** Colours and movements of the cursor. */
const SEQUENCES = /\u001b\[[0-9;?]*[A-Za-z]/g;
const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const spelled = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

/**
 * Text for a terminal or a log. Characters that would control it or be invisible are escaped, ESC as `\u001b`. Newlines
 * and tabs stay, colours are removed. JSON text stays the same JSON, because its strings allow such escapes.
 */
export const cleanText = (text: string): string =>
  text.replace(COLOURS, '').replaceAll('\r\n', '\n').replace(HIDDEN, spelled);

/** Text as one clean line: without terminal sequences, and with one space for each piece of white space. */
export const cleanLine = (text: string): string =>
  cleanText(
    text
      .replace(SEQUENCES, '')
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim(),
  );

/** Clean text whose further lines are indented: none of them can pass for a line of the program's own. */
export const cleanBlock = (text: string): string => cleanText(text).replaceAll('\n', '\n    ');

/**
 * A clean line for a cell of a Markdown table or for a list. Its punctuation is not read as markup; a bare address may
 * still become a link, and a line that begins with a number and a dot may become an item of a list.
 */
export const cleanMarkdown = (text: string): string => cleanLine(text).replace(/[\\`*_|<>[\]~&#]|^[-+]/g, '\\$&');

/** Clean text for the content of an HTML element or a quoted attribute. */
export const cleanHtml = (text: string): string =>
  cleanText(text).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);

/** The text with U+FFFD for each half of a surrogate pair, which UTF-8 cannot encode and servers refuse. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

/** The text, or as many of its whole words as fit into `most` characters, with an ellipsis. A longer word is cut. */
export function wholeWords(text: string, most: number): string {
  if (text.length <= most) return text;
  const start = text.slice(0, most - 2);
  const space = text[most - 2] === ' ' ? start.length : start.lastIndexOf(' ');
  return `${(space > most / 2 ? start.slice(0, space) : start).trimEnd()} …`;
}
