import type { EnvironmentCall, EnvironmentMove, EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { startOf } from '../../contracts/clean-text';
import { seededRandom } from '../statistics/random';
import { type EnvironmentTask, promptOf } from './environment-task';
import { asCall, asMove, SAID, speakingTools, toolNames } from './moves';
import { CLAIM, NEUTRAL } from './scripted-policies';
import { wordsOf } from './words';
import { argumentValues, withOneWrongArgument } from './wrong-arguments';

/** Facts about the environment's tasks, for making variations of a solution. */
export interface Material {
  tools: readonly EnvironmentTool[];
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
}

/** Greetings and the like around an answer. */
const GREETINGS = ['hello ', 'Hello! ', 'good day, '];
/** Number of calls in a variation that only repeats one call. */
const REPEATS = 6;
/** Number of texts to say instead of the right one, for each task. */
const OTHER_TEXTS = 3;
/** Number of words added to a text. */
const PADDING = 24;

/** The material of an environment's tasks. `texts` are the texts in its source, if known. */
export function materialOf(
  tools: readonly EnvironmentTool[],
  tasks: readonly EnvironmentTask[],
  texts: readonly string[] = [],
): Material {
  const solutions = tasks.map(({ reference }) => reference);
  return {
    tools,
    values: argumentValues(tasks),
    speaking: speakingTools(tools, solutions),
    texts: [NEUTRAL, CLAIM, ...texts],
  };
}

/** The tools of a solution. */
export const familyOf = ({ reference }: Pick<EnvironmentTask, 'reference'>): string =>
  [...new Set(toolNames(reference))].sort().join(' ');

/** The tools of the part of a solution that contains a move. A part ends when the agent says something. */
function partAt(reference: readonly EnvironmentMove[], index: number, speaking: ReadonlySet<string>): string {
  const names = toolNames(reference);
  const isEnd = (name: string): boolean => speaking.has(name);
  const begin = names.slice(0, index).findLastIndex(isEnd) + 1;
  const end = names.findIndex((name, place) => place >= index && isEnd(name));
  const isLast = end < 0 || end === names.length - 1;
  const tools = [...new Set(names.slice(begin, end < 0 ? undefined : end + 1))].sort().join(' ');
  return isLast ? tools : `${tools}, not the last`;
}

/** All variations of a task's reference solution. */
export function variationsOf(task: EnvironmentTask, material: Material): Variation[] {
  const random = seededRandom(task.seed);
  return [
    ...added(task, material),
    ...moved(task, material),
    ...removed(task, material),
    ...replaced(task, material, random),
    ...reworded(task, material, random),
  ];
}

/** Makes variations of one part of a solution. Without `mark`, no move's answer is compared. */
const variationsIn =
  (part: string) =>
  (
    kind: Variation['kind'],
    change: string,
    about: string,
    moves: EnvironmentMove[],
    mark: number | null = null,
  ): Variation => ({ change, about, moves, part, mark, kind });

/** `moves` with `remove` of them, from `at` on, replaced by others. */
const spliced = (
  moves: readonly EnvironmentMove[],
  at: number,
  remove: number,
  ...others: EnvironmentMove[]
): EnvironmentMove[] => [...moves.slice(0, at), ...others, ...moves.slice(at + remove)];

/** Additional calls: any tool once more, and a malformed call. */
function added({ reference }: EnvironmentTask, { tools, speaking }: Material): Variation[] {
  const known = new Map<string, unknown>();
  for (const move of reference)
    for (const [key, value] of Object.entries(asCall(move).arguments)) if (!known.has(key)) known.set(key, value);
  const calls = tools.flatMap((tool): EnvironmentCall[] => {
    const { name } = tool.function;
    const own = reference.map(asCall).find((call) => call.name === name);
    if (own) return [own];
    const keys = Object.keys(tool.function.parameters?.['properties'] ?? {});
    if (keys.length === 0 || keys.some((key) => !known.has(key))) return [];
    return [{ name, arguments: Object.fromEntries(keys.map((key) => [key, known.get(key)])) }];
  });
  const variation = variationsIn(familyOf({ reference }));
  const malformed: EnvironmentMove = { name: tools[0]!.function.name, arguments: {} };
  return [
    ...calls
      .filter(({ name }) => !speaking.has(name))
      .map((call) => {
        const about = `One more call of ${call.name}, before everything else`;
        return variation('either', `first ${call.name}`, about, [call, ...reference], 0);
      }),
    ...reference.flatMap((move, index) => {
      const { name } = asCall(move);
      if (speaking.has(name)) return [];
      const twice = spliced(reference, index + 1, 0, move);
      return variationsIn(partAt(reference, index, speaking))(
        'either',
        `again ${name}`,
        `The same call of ${name} twice`,
        twice,
        index + 1,
      );
    }),
    variation('way', 'malformed first', 'One more call, malformed, before everything else', [malformed, ...reference]),
  ];
}

/** The same calls in another order. */
function moved({ reference }: EnvironmentTask, { speaking }: Material): Variation[] {
  const names = toolNames(reference);
  return reference.flatMap((move, index): Variation[] => {
    const next = reference[index + 1];
    if (next === undefined) return [];
    const [name, nextName] = [names[index]!, names[index + 1]!];
    const variation = variationsIn(partAt(reference, index, speaking));
    // A call after the answer may come too late.
    const kind = speaking.has(nextName) ? 'fault' : 'either';
    const swapped = spliced(reference, index, 2, next, move);
    const last = [...spliced(reference, index, 1), move];
    const variations = [
      variation(kind, `swapped ${name} ${nextName}`, `${name} after ${nextName} instead of before it`, swapped, index),
      variation('fault', `last ${name}`, `${name} at the end instead of in its place`, last),
    ];
    const answer = reference.slice(index).find((later) => speaking.has(asCall(later).name));
    if (index === 0 || answer === undefined || answer === move || speaking.has(names[index - 1]!)) return variations;
    const about = `The answer before ${name}, and again after it`;
    return [...variations, variation('fault', `answered before ${name}`, about, spliced(reference, index, 0, answer))];
  });
}

/** A solution without one call, and a solution of one call only. */
function removed({ reference }: EnvironmentTask, { speaking }: Material): Variation[] {
  const names = toolNames(reference);
  return reference.flatMap((move, index): Variation[] => {
    const name = names[index]!;
    const variation = variationsIn(partAt(reference, index, speaking));
    const repeated = Array.from({ length: REPEATS }, () => move);
    return [
      variation('fault', `without ${name}`, `A solution without ${name}`, spliced(reference, index, 1)),
      variation('fault', `only ${name}`, `Nothing but ${REPEATS} calls of ${name}`, repeated, 0),
    ];
  });
}

/** A wrong argument, a wrong try before the right one, and one call twice instead of two. */
function replaced({ reference }: EnvironmentTask, { values, speaking }: Material, random: () => number): Variation[] {
  const names = toolNames(reference);
  return reference.flatMap((move, index): Variation[] => {
    const name = names[index]!;
    if (speaking.has(name)) return [];
    const variation = variationsIn(partAt(reference, index, speaking));
    const variations = withOneWrongArgument(move, values, random).flatMap(({ move: other, key }): Variation[] => {
      const wrong = spliced(reference, index, 1, other);
      const tried = spliced(reference, index, 0, other);
      const about = `A try of ${name} with a wrong ${key} before the right one`;
      return [
        variation('fault', `wrong ${name}.${key}`, `A wrong ${key} for ${name}`, wrong, index),
        // A second try of a look-up. A wrong change of state may count, even if it was refused.
        { ...variation('way', `try ${name}.${key}`, about, tried, index), given: `again ${name}` },
      ];
    });
    const first = names.indexOf(name);
    if (first === index) return variations;
    const twice = spliced(reference, index, 1, reference[first]!);
    const about = `The same call of ${name} in place of two different ones`;
    return [...variations, variation('fault', `twice ${name}`, about, twice)];
  });
}

/** Other words: greetings, text without a tool, other texts, and arguments with more than the right value. */
function reworded(task: EnvironmentTask, material: Material, random: () => number): Variation[] {
  const { reference } = task;
  const { speaking, texts, values } = material;
  const found = new Set(wordsOf(promptOf(task)));
  return reference.flatMap((move, index): Variation[] => {
    const { name, arguments: given } = asCall(move);
    const variation = variationsIn(partAt(reference, index, speaking));
    return Object.entries(given).flatMap(([key, value]): Variation[] => {
      if (typeof value !== 'string') return [];
      const says = (text: string): EnvironmentMove[] =>
        spliced(reference, index, 1, asMove(move, { name, arguments: { ...given, [key]: text } }));
      if (speaking.has(name)) {
        const greeted = GREETINGS.map((greeting) => {
          const about = `An answer that begins with "${greeting}"`;
          return variation('way', `"${greeting}" before ${SAID}`, about, says(`${greeting}${value}`));
        });
        const otherwise = Array.from({ length: OTHER_TEXTS }, () => {
          const text = texts[Math.floor(random() * texts.length)]!;
          const about = `Words such as "${startOf(text, 40)}" as the answer`;
          return variation('fault', `other words ${SAID}`, about, says(text));
        });
        if ('text' in move) return [...greeted, ...otherwise];
        const spoken = spliced(reference, index, 1, { text: value });
        const about = 'An answer as plain text instead of through a tool';
        return [...greeted, ...otherwise, variation('fault', `spoken ${SAID}`, about, spoken)];
      }
      const hidden = (values.get(`${name}.${key}`) ?? []).flatMap((other) =>
        typeof other === 'string' ? other.split(' ').filter((word) => !found.has(word.toLowerCase())) : [],
      );
      const more = [...new Set(hidden)].sort().slice(0, PADDING);
      if (more.length < 2) return [];
      const about = `A ${key} that holds other values as well`;
      return [variation('fault', `more in ${key} of ${name}`, about, says([value, ...more].join(' ')))];
    });
  });
}
