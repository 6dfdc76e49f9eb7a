import { readFileSync } from 'node:fs';
import { type EnvironmentCall, environmentCallSchema } from '../contracts/messages/environment-protocol';
import { textLines } from '../contracts/text-lines';
import { openEnvironment } from '../sandbox';
import { writeLine } from './output';

/** Name of the one episode in the environment's process. */
const EPISODE = 'play';

/**
 * Plays one episode in the jail: with the moves of the reference solution, or with those of standard input, a JSON
 * document a line: {"name", "arguments"} calls a tool, {"text"} says something. Throws SandboxError.
 */
export async function playEpisode(file: string, seed: number, reference: boolean): Promise<void> {
  const environment = await openEnvironment({ source: readFileSync(file, 'utf8'), trust: 'synthesised', name: file });
  try {
    const { tools } = await environment.describe();
    const { messages } = await environment.reset(EPISODE, seed);
    writeLine({ type: 'opening', seed, tools, messages });
    for await (const move of reference ? await environment.reference(seed) : movesOfInput()) {
      const { observations, done } =
        'text' in move ? await environment.say(EPISODE, move.text) : await environment.step(EPISODE, [move]);
      writeLine({ type: 'observation', move, observation: observations[0] ?? '', done });
      if (done) break;
    }
    const { reward } = await environment.evaluate(EPISODE);
    writeLine({ type: 'end', seed, reward });
  } finally {
    await environment.close();
  }
}

type Move = EnvironmentCall | { text: string };

/** The moves on standard input. A line that is none is answered with an error and left out. */
async function* movesOfInput(): AsyncGenerator<Move> {
  for await (const line of textLines(process.stdin)) {
    if (line.trim() === '') continue;
    const read = readMove(line);
    if (read.move === null) writeLine({ type: 'error', message: read.problem });
    else yield read.move;
  }
}

function readMove(line: string): { move: Move } | { move: null; problem: string } {
  let document: unknown;
  try {
    document = JSON.parse(line);
  } catch (error) {
    return { move: null, problem: `This line is not JSON: ${(error as Error).message}` };
  }
  const isText = typeof (document as { text?: unknown } | null)?.text === 'string';
  if (isText || environmentCallSchema.safeParse(document).success) return { move: document as Move };
  return { move: null, problem: 'A move is {"name": "...", "arguments": {...}} or {"text": "..."}.' };
}
