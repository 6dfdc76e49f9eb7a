import type { EnvironmentCall, EnvironmentMove, EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { sayThrough } from './scripted-policies';

/** Tool name of a text turn. */
export const SAID = 'say';

/** A move as a call; a text turn becomes a call of `SAID`. */
export const asCall = (move: EnvironmentMove): EnvironmentCall =>
  'text' in move ? { name: SAID, arguments: { text: move.text } } : move;

/** A move in readable form: `send({"stamps":4})`, or a text in quotation marks. */
export const moveText = (move: EnvironmentMove): string =>
  'text' in move ? JSON.stringify(move.text) : `${move.name}(${JSON.stringify(move.arguments)})`;

/** A call as a move of the same type as `like`: a text turn if `like` is one. */
export const asMove = (like: EnvironmentMove, call: EnvironmentCall): EnvironmentMove =>
  'text' in like ? { text: String(call.arguments['text']) } : call;

/** Names of a reference solution's moves, in order. */
export const toolNames = (moves: readonly EnvironmentMove[]): string[] => moves.map((move) => asCall(move).name);

/**
 * Names of the tools through which the agent speaks: they take only one text, which the agent words itself. A look-up
 * by name is not among them, because its texts come from openings or observations. They are found by the last move of
 * the solutions, which is mostly the agent's answer.
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
