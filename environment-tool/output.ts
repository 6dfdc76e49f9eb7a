import { cleanText } from '../contracts/clean-text';
import type { AgentSpec } from '../contracts/config/agent-spec';
import type { EnvironmentToolLine } from '../contracts/messages/environment-tool';

/** Writes one line to standard output. */
export function writeLine(line: EnvironmentToolLine): void {
  process.stdout.write(`${cleanText(JSON.stringify(line))}\n`);
}

/** Writes the ranges of an agent's tasks. */
export function writeRanges({ environment: { trainSeeds, heldOutSeeds } }: AgentSpec): void {
  writeLine({ type: 'ranges', trainSeeds, heldOutSeeds });
}
