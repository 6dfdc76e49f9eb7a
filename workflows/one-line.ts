/**
 * A text as one line of at most `most` characters, without control characters. Of a longer one its beginning and its
 * end are kept: what failed stands first, a program's own message last.
 */
export function oneLine(text: string, most: number): string {
  // Logs of trainers hold colours and other terminal sequences.
  const line = text
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  if (line.length <= most) return line;
  const end = Math.floor(most / 3);
  return `${line.slice(0, most - end - 3).trimEnd()} … ${line.slice(-end).trimStart()}`;
}

/** A line for a cell of a Markdown table or for a list: nothing in it is read as markup. */
export function asMarkdown(line: string): string {
  return line.replace(/[\\`*_|<>[\]]/g, '\\$&');
}
