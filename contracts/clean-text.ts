/**
 * Cleans foreign text (generated code, models, logs, agent.yaml) before a terminal, Markdown or HTML shows it. Imports
 * nothing, because workflow code uses it.
 */

/**
 * Invisible characters, and characters that change how others are displayed. These are control characters except
 * newline and tab, direction marks, unusual line separators, spaces, letters and marks without a shape, invisible tags,
 * and halves of surrogate pairs. Scripts and emoji need joiners between characters beyond ASCII, and emoji need their
 * selectors, so these stay.
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
 * Text for a terminal or a log. Control characters and invisible characters are escaped, ESC as `\u001b`. Newlines and
 * tabs stay; colours are removed. JSON text keeps its meaning, because its strings allow such escapes.
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

/** Clean text whose further lines are indented, so that none looks like a line of the program itself. */
export const cleanBlock = (text: string): string => cleanText(text).replaceAll('\n', '\n    ');

/**
 * A clean line for a cell of a Markdown table or for a list. Its punctuation is not read as markup. But a bare address
 * may still become a link, and a line that begins with a number and a dot may become a list item.
 */
export const cleanMarkdown = (text: string): string => cleanLine(text).replace(/[\\`*_|<>[\]~&#]|^[-+]/g, '\\$&');

/** Clean text for the content of an HTML element or a quoted attribute. */
export const cleanHtml = (text: string): string =>
  cleanText(text).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);

/**
 * The text with U+FFFD for each half of a surrogate pair: UTF-8 cannot encode these halves, and servers refuse them.
 */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

/**
 * Signs that mean something only as a whole: what redaction and shortening leave (`[email:3f2a91c07b]`,
 * `[… 12 characters left out …]`), control tokens of models, escapes of JSON, addresses and HTML, and sequences of a
 * terminal.
 */
const MARKERS = new RegExp(
  [
    '\\[…[^[\\]…]{1,80}…\\]|\\[\\w[\\w :-]{0,60}\\]|<[/|｜\\w▁-]{1,60}>|\\u001b\\[[0-9;?]{0,20}[A-Za-z]',
    '&(?:#\\d{1,7}|#x[\\da-fA-F]{1,6}|\\w{2,10});',
    '%[c-fC-F][\\da-fA-F](?:%[89abAB][\\da-fA-F]){0,3}|%[\\da-fA-F]{2}',
    '\\\\(?:u[dD][89abAB]..\\\\u[dD][c-fC-F]..|u[\\da-fA-F]{4}|U[\\da-fA-F]{8}|x[\\da-fA-F]{2}|[^])',
  ].join('|'),
  'gu',
);
/** No marker is longer. */
const LONGEST_MARKER = 90;
/** Below this code every character stands for itself, but for CR LF. Combining marks begin here. */
const FIRST_COMBINING = 0x300;
let graphemes: Intl.Segmenter | undefined;

/**
 * The beginning of a text: at most `most` UTF-16 units, and less where a character, a grapheme (such as a flag or a
 * letter with its accents) or a marker would be cut. Every text that is cut for a reader is cut by this or by `endOf`.
 */
export function startOf(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, wholePlace(text, Math.floor(most), 'start'));
}

/** The same for the end of a text. */
export function endOf(text: string, most: number): string {
  return text.length <= most ? text : text.slice(wholePlace(text, text.length - Math.floor(most), 'end'));
}

/**
 * The text of the last bytes of UTF-8 that was cut somewhere. What is left of a character or a grapheme in front is
 * left out.
 */
export function textOfEnd(bytes: Uint8Array): string {
  const whole = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return new TextDecoder()
    .decode(bytes.subarray(Math.max(0, whole)))
    .replace(/^(?:[\p{M}\p{Emoji_Modifier}]|\u200d.)+/u, '');
}

/** The nearest place at `at` or on its outer side, towards `side`, at which a text can be cut. */
function wholePlace(text: string, at: number, side: 'start' | 'end'): number {
  let place = at;
  for (;;) {
    if (place <= 0 || place >= text.length) return Math.max(0, Math.min(place, text.length));
    const [start, end] = markerAround(text, place) ?? graphemeAround(text, place) ?? [place, place];
    if (start === place) return place;
    place = side === 'start' ? start : end;
  }
}

/** Where the marker that a cut at `at` would damage begins and ends. */
function markerAround(text: string, at: number): [number, number] | null {
  let from = Math.max(0, at - LONGEST_MARKER);
  // Of several backslashes, every second one is itself escaped.
  while (text[from - 1] === '\\') from--;
  for (const { 0: marker, index } of text.slice(from, at + LONGEST_MARKER).matchAll(MARKERS)) {
    const start = from + index;
    if (start >= at) return null;
    if (start + marker.length > at) return [start, start + marker.length];
  }
  return null;
}

/** The same for a grapheme. */
function graphemeAround(text: string, at: number): [number, number] | null {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  if (before < FIRST_COMBINING && after < FIRST_COMBINING && !(before === 13 && after === 10)) return null;
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  const { index, segment } = graphemes.segment(text).containing(at)!;
  return index < at ? [index, index + segment.length] : null;
}

/** The text, or as many of its whole words as fit into `most` characters, with an ellipsis. A longer word is cut. */
export function wholeWords(text: string, most: number): string {
  if (text.length <= most) return text;
  const start = startOf(text, most - 2);
  const space = text[start.length] === ' ' ? start.length : start.lastIndexOf(' ');
  return `${(space > most / 2 ? startOf(start, space) : start).trimEnd()} …`;
}
