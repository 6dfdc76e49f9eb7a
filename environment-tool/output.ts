import { cleanText } from '../contracts/clean-text';
import type { EnvironmentToolLine } from '../contracts/messages/environment-tool';

/** Writes one line to standard output. */
export function writeLine(line: EnvironmentToolLine): void {
  process.stdout.write(`${cleanText(JSON.stringify(line))}\n`);
}
