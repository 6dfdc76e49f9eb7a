import type { EnvironmentCall, EnvironmentMove, EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { sayThrough } from './scripted-policies';

/** Name under which a text turn counts as a call of a tool that takes text. */
export const SAID = 'say';

/** A move as a call; a text turn is one of `SAID`. */
export const asCall = (move: EnvironmentMove): EnvironmentCall =>
  'text' in move ? { name: SAID, arguments: { text: move.text } } : move;

/** The move of another call in the place of `like`: a text turn where `like` is one. */
export const asMove = (like: EnvironmentMove, call: EnvironmentCall): EnvironmentMove =>
  'text' in like ? { text: String(call.arguments['text']) } : call;

/** Names of a reference solution's moves, in order. */
export const toolNames = (moves: readonly EnvironmentMove[]): string[] => moves.map((move) => asCall(move).name);

/**
 * Names of the tools that say something: they take nothing but one text, which the agent words. A tool whose texts are
 * found in openings or observations, such as a look-up by name, is none. Known by the last move of the solutions, with
 * which the agent mostly answers.
 */
export function speakingTools(tools: readonly EnvironmentTool[], solutions: readonly EnvironmentMove[][]): Set<string> {
  const oneText = new Set(
    tools
      .filter((tool) => {
        const call = sayThrough(tool, 'x');
        return call !== null && Object.keys(call.arguments).length === 1;
      })
      .map((tool) => tool.function.name),
  );
  const wordy = solutions.flatMap((moves) => {
    const last = moves.at(-1);
    if (last === undefined) return [];
    const { name, arguments: given } = asCall(last);
    const text = Object.values(given)[0];
    return oneText.has(name) && typeof text === 'string' && text.includes(' ') ? [name] : [];
  });
  return new Set([SAID, ...wordy]);
}
