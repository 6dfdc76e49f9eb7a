/** The sentence that a failure has behind its words where it came several times in a row. */
export const sameFailureText = (times: number): string => `The same failure came ${times} times in a row.`;

/** How often a failure came in a row, where its words say so. */
export function sameFailureTimes(message: string): number | null {
  const times = /The same failure came (\d+) times in a row\.$/.exec(message)?.[1];
  return times === undefined ? null : Number(times);
}

/** The words of a failure without the sentence of `sameFailureText`. */
export const withoutSameFailure = (message: string): string =>
  message.replace(/ ?The same failure came \d+ times in a row\.$/, '');
