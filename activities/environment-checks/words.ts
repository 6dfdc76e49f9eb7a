/** Words in lower case, without punctuation. */
export const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** A value as text: a string as it is, everything else as JSON. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The words of a text with a space around each, so that `includes` finds whole words only. */
export const spacedWords = (text: string): string => ` ${wordsOf(text).join(' ')} `;

/** All runs of `size` consecutive words; a shorter text is one run. */
export function wordRuns(words: readonly string[], size: number): Set<string> {
  if (words.length <= size) return new Set(words.length === 0 ? [] : [words.join(' ')]);
  return new Set(
    Array.from({ length: words.length - size + 1 }, (_, start) => words.slice(start, start + size).join(' ')),
  );
}
