import type { EnvironmentCall, EnvironmentMove, EnvironmentTool } from '../../contracts/messages/environment-protocol';
import type { EnvironmentTask } from './environment-task';
import { asCall, toolNames } from './moves';

/** Facts about the environment's tasks, for making variations of a solution. */
export interface Material {
  tools: readonly EnvironmentTool[];
  /** The tasks themselves. */
  tasks: readonly EnvironmentTask[];
  /** All values of each argument in the reference solutions, from `argumentValues`. */
  values: ReadonlyMap<string, readonly unknown[]>;
  /** From `speakingTools`. */
  speaking: ReadonlySet<string>;
  /** Texts to say instead of the right one. */
  texts: readonly string[];
}

/** A reference solution with one change. */
export interface Variation {
  /** The kind of change and its tools. It is the same in every environment. */
  change: string;
  /** The change in words: the beginning of a sentence. */
  about: string;
  moves: EnvironmentMove[];
  /** The tools of the changed part of the solution: changes are compared between parts with the same tools. */
  part: string;
  /** Position of the move whose answer shows the tool's effect; null without such a move. */
  mark: number | null;
  /**
   * `way`: another way to the same result, which may be right. `fault`: something is missing or wrong. `either`: the
   * environment decides.
   */
  kind: 'way' | 'fault' | 'either';
  /** The change counts only if the agent's environment accepts this other change. */
  given?: string;
  /**
   * A further call, wrong or needless. It is a fault only if it changes something. A call that is not of the solution's
   * tools may be a look-up, which changes nothing.
   */
  further?: { position: number; mayLookUp: boolean };
  /** The text that is said instead of the right one: each text is also judged by itself. */
  said?: string;
}

/** The tools of a solution. */
export const familyOf = ({ reference }: Pick<EnvironmentTask, 'reference'>): string =>
  [...new Set(toolNames(reference))].sort().join(' ');

/** The tools of the part of a solution that contains a move. A part ends when the agent says something. */
export function partAt(reference: readonly EnvironmentMove[], index: number, speaking: ReadonlySet<string>): string {
  const names = toolNames(reference);
  const isEnd = (name: string): boolean => speaking.has(name);
  const begin = names.slice(0, index).findLastIndex(isEnd) + 1;
  const end = names.findIndex((name, place) => place >= index && isEnd(name));
  const isLast = end < 0 || end === names.length - 1;
  const tools = [...new Set(names.slice(begin, end < 0 ? undefined : end + 1))].sort().join(' ');
  return isLast ? tools : `${tools}, not the last`;
}

/** Makes variations of one part of a solution. Without `mark`, no move's answer is compared. */
export const variationsIn =
  (part: string) =>
  (
    kind: Variation['kind'],
    change: string,
    about: string,
    moves: EnvironmentMove[],
    mark: number | null = null,
  ): Variation => ({ change, about, moves, part, mark, kind });

/** `moves` with `remove` of them, from `at` on, replaced by others. */
export const spliced = (
  moves: readonly EnvironmentMove[],
  at: number,
  remove: number,
  ...others: EnvironmentMove[]
): EnvironmentMove[] => [...moves.slice(0, at), ...others, ...moves.slice(at + remove)];

/** The arguments of a tool's schema, by name. */
export const parametersOf = (tool: EnvironmentTool): Record<string, { type?: unknown; enum?: unknown }> =>
  (tool.function.parameters?.['properties'] ?? {}) as Record<string, { type?: unknown; enum?: unknown }>;

/** The first value of each argument in a solution, by the argument's name. */
export function knownValues(reference: readonly EnvironmentMove[]): Map<string, unknown> {
  const known = new Map<string, unknown>();
  for (const move of reference)
    for (const [key, value] of Object.entries(asCall(move).arguments)) if (!known.has(key)) known.set(key, value);
  return known;
}

/** A call of each tool for which the solution has all arguments: its own call, if it has one. */
export function knownCalls(
  { reference }: Pick<EnvironmentTask, 'reference'>,
  { tools, speaking }: Material,
): EnvironmentCall[] {
  const known = knownValues(reference);
  return tools.flatMap((tool): EnvironmentCall[] => {
    const { name } = tool.function;
    if (speaking.has(name)) return [];
    const own = reference.map(asCall).find((call) => call.name === name);
    if (own) return [own];
    const keys = Object.keys(parametersOf(tool));
    if (keys.length === 0 || keys.some((key) => !known.has(key))) return [];
    return [{ name, arguments: Object.fromEntries(keys.map((key) => [key, known.get(key)])) }];
  });
}
