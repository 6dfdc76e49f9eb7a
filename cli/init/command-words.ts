/** A word of a command: pieces in single quotes, in double quotes, and others. */
const WORD = /(?:'[^']*'|"[^"]*"|[^\s'"])+/y;
const BLANKS = /\s*/y;
/** What a shell would act on, outside of quotes. */
const OF_SHELLS = /[|&;<>()$`*?~#\\]/;

/**
 * The words of a command as a person writes it: words in quotes may have blanks. No shell reads it, so that signs of
 * shells are refused. `fault` says why it cannot be read.
 */
export function commandWords(text: string): { words: string[] } | { fault: string } {
  const words: string[] = [];
  BLANKS.lastIndex = 0;
  BLANKS.exec(text);
  let place = BLANKS.lastIndex;
  while (place < text.length) {
    WORD.lastIndex = place;
    const [written] = WORD.exec(text) ?? [];
    if (written === undefined) return { fault: 'A quote has no second one.' };
    const sign = OF_SHELLS.exec(written.replace(/'[^']*'|"[^"]*"/g, ''))?.[0];
    if (sign !== undefined)
      return { fault: `No shell reads it, so ${sign} has no effect. Write it in quotes, or use bash -c '...'.` };
    words.push(written.replace(/'([^']*)'|"([^"]*)"/g, (_, single?: string, double?: string) => single ?? double!));
    BLANKS.lastIndex = WORD.lastIndex;
    BLANKS.exec(text);
    place = BLANKS.lastIndex;
  }
  return words.length === 0 || words[0] === '' ? { fault: 'Allowed: a program and its arguments.' } : { words };
}
