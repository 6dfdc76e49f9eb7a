import { readFileSync } from 'node:fs';

/** The last lines of a log, for messages; empty when it cannot be read. */
export function logTail(path: string, lines = 15): string {
  try {
    return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '';
  }
}
