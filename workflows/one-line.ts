import { cleanLine } from '../contracts/clean-text';

/**
 * A text as one clean line of at most `most` characters. Of a longer one its beginning and its end are kept: what
 * failed stands first, a program's own message last.
 */
export function oneLine(text: string, most: number): string {
  const line = cleanLine(text);
  if (line.length <= most) return line;
  const end = Math.floor(most / 3);
  return `${line.slice(0, most - end - 3).trimEnd()} … ${line.slice(-end).trimStart()}`;
}

/** A span in hours, or in days where it is whole days: `20 hours`, `7 days`. */
export function hoursText(ms: number): string {
  const hours = Number((ms / 3_600_000).toPrecision(3));
  if (hours % 24 === 0) return hours === 24 ? '1 day' : `${hours / 24} days`;
  return hours === 1 ? '1 hour' : `${hours} hours`;
}
