import type { EnvironmentMove, EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { startOf } from '../../contracts/clean-text';
import { seededRandom } from '../statistics/random';
import { type EnvironmentTask, promptOf } from './environment-task';
import { asCall, asMove, SAID, speakingTools, toolNames } from './moves';
import { otherCalls } from './other-calls';
import { otherEndings } from './other-endings';
import { CLAIM, NEUTRAL } from './scripted-policies';
import { familyOf, knownCalls, type Material, partAt, spliced, type Variation, variationsIn } from './variation-parts';
import { wordsOf } from './words';
import { argumentValues, withOneWrongArgument } from './wrong-arguments';
import { withValuesOfTask } from './wrong-values';

/** Greetings and the like around an answer. */
const GREETINGS = ['hello ', 'Hello! ', 'good day, '];
/** Number of calls in a variation that repeats one call. */
const REPEATS = 6;
/** Number of texts to say instead of the right one, drawn for each task. */
const OTHER_TEXTS = 3;
/** In addition, each text is said in every eighth task. */
const TASKS_OF_A_TEXT = 8;
/** Number of words added to a text. */
const PADDING = 24;
/** A very long text that says nothing. */
const LONG = Array.from({ length: 40 }, () => NEUTRAL).join(' ');

/** The material of an environment's tasks. `texts` are the texts in its source, if known. */
export function materialOf(
  tools: readonly EnvironmentTool[],
  tasks: readonly EnvironmentTask[],
  texts: readonly string[] = [],
): Material {
  const solutions = tasks.map(({ reference }) => reference);
  return {
    tools,
    tasks,
    values: argumentValues(tasks),
    speaking: speakingTools(tools, solutions),
    texts: [NEUTRAL, CLAIM, ...texts],
  };
}

/** All variations of a task's reference solution. `place` is the task's place among those that are varied. */
export function variationsOf(task: EnvironmentTask, material: Material, place: number): Variation[] {
  const random = seededRandom(task.seed);
  return [
    ...added(task, material),
    ...moved(task, material),
    ...removed(task, material),
    ...replaced(task, material, random),
    ...otherCalls(task, material, random),
    ...otherEndings(task, material),
    ...reworded(task, material),
    ...saidOtherwise(task, material, place, random),
  ];
}

/** Additional calls: any tool once more, and a malformed call. */
function added(task: EnvironmentTask, material: Material): Variation[] {
  const { reference } = task;
  const { tools, speaking } = material;
  const variation = variationsIn(familyOf({ reference }));
  const malformed: EnvironmentMove = { name: tools[0]?.function.name ?? 'no_such_tool', arguments: {} };
  return [
    ...knownCalls(task, material).map((call) => {
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
      ...late(reference, index, speaking),
    ];
    const answer = reference.slice(index).find((later) => speaking.has(asCall(later).name));
    if (index === 0 || answer === undefined || answer === move || speaking.has(names[index - 1]!)) return variations;
    const about = `The answer before ${name}, and again after it`;
    return [...variations, variation('fault', `answered before ${name}`, about, spliced(reference, index, 0, answer))];
  });
}

/** A call as the last one before the answer, if more than one call comes between. */
function late(reference: readonly EnvironmentMove[], index: number, speaking: ReadonlySet<string>): Variation[] {
  const names = toolNames(reference);
  const answer = names.findIndex((name, place) => place > index && speaking.has(name));
  if (answer < index + 3 || speaking.has(names[index]!)) return [];
  const moves = [...reference.slice(0, index), ...reference.slice(index + 1, answer), reference[index]!];
  const variation = variationsIn(partAt(reference, index, speaking));
  const about = `${names[index]} after all other calls instead of in its place`;
  return [variation('fault', `late ${names[index]}`, about, [...moves, ...reference.slice(answer)])];
}

/** A solution without one call, and a solution of one call only. */
function removed({ reference }: EnvironmentTask, { speaking }: Material): Variation[] {
  const names = toolNames(reference);
  return reference.flatMap((move, index): Variation[] => {
    const name = names[index]!;
    const variation = variationsIn(partAt(reference, index, speaking));
    const repeated = Array.from({ length: REPEATS }, () => move);
    const about = `${REPEATS} calls of ${name} after a right beginning`;
    const stuck = [...reference.slice(0, index), ...repeated];
    return [
      variation('fault', `without ${name}`, `A solution without ${name}`, spliced(reference, index, 1)),
      variation('fault', `only ${name}`, `Nothing but ${REPEATS} calls of ${name}`, repeated, 0),
      ...(index === 0 ? [] : [variation('fault', `stuck at ${name}`, about, stuck)]),
    ];
  });
}

/** A wrong argument, a wrong try before the right one, and one call twice instead of two. */
function replaced(
  { reference, hidden }: EnvironmentTask,
  { values, speaking }: Material,
  random: () => number,
): Variation[] {
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
        {
          ...variation('either', `try ${name}.${key}`, about, tried, index),
          given: `again ${name}`,
          further: { position: index, mayLookUp: false },
        },
      ];
    });
    variations.push(
      ...withValuesOfTask(move, hidden ?? {}, random).flatMap(({ move: other, key, how }): Variation[] => {
        const about = {
          other: `A ${key} of another object`,
          field: `Another field as the ${key}`,
          near: `A ${key} that is nearly right`,
        };
        const wrong = spliced(reference, index, 1, other);
        const made = variation('fault', `${how} ${name}.${key}`, `${about[how]} for ${name}`, wrong);
        if (how !== 'other') return [made];
        const besides = `A call of ${name} with a ${key} of another object besides the right one`;
        const both = spliced(reference, index + 1, 0, other);
        return [
          made,
          {
            ...variation('fault', `besides ${name}.${key}`, besides, both),
            further: { position: index + 1, mayLookUp: false },
          },
        ];
      }),
    );
    const first = names.indexOf(name);
    if (first === index) return variations;
    const twice = spliced(reference, index, 1, reference[first]!);
    const about = `The same call of ${name} in place of two different ones`;
    return [...variations, variation('fault', `twice ${name}`, about, twice)];
  });
}

/** Arguments with more than the right value. */
function reworded(task: EnvironmentTask, { speaking, values }: Material): Variation[] {
  const { reference } = task;
  const found = new Set(wordsOf(promptOf(task)));
  return reference.flatMap((move, index): Variation[] => {
    const { name, arguments: given } = asCall(move);
    if (speaking.has(name)) return [];
    const variation = variationsIn(partAt(reference, index, speaking));
    return Object.entries(given).flatMap(([key, value]): Variation[] => {
      if (typeof value !== 'string') return [];
      const hidden = (values.get(`${name}.${key}`) ?? []).flatMap((other) =>
        typeof other === 'string' ? other.split(' ').filter((word) => !found.has(word.toLowerCase())) : [],
      );
      const more = [...new Set(hidden)].sort().slice(0, PADDING);
      if (more.length < 2) return [];
      const about = `A ${key} that holds other values as well`;
      const text = [value, ...more].join(' ');
      const moves = spliced(reference, index, 1, asMove(move, { name, arguments: { ...given, [key]: text } }));
      return [variation('fault', `more in ${key} of ${name}`, about, moves)];
    });
  });
}

/** Other answers: greetings, text without a tool, a very long one, and other texts. */
function saidOtherwise(
  { reference }: EnvironmentTask,
  { speaking, texts }: Material,
  place: number,
  random: () => number,
): Variation[] {
  return reference.flatMap((move, index): Variation[] => {
    const { name, arguments: given } = asCall(move);
    if (!speaking.has(name)) return [];
    const variation = variationsIn(partAt(reference, index, speaking));
    return Object.entries(given).flatMap(([key, value]): Variation[] => {
      if (typeof value !== 'string') return [];
      const says = (text: string): EnvironmentMove[] =>
        spliced(reference, index, 1, asMove(move, { name, arguments: { ...given, [key]: text } }));
      const greeted = GREETINGS.map((greeting) => {
        const about = `An answer that begins with "${greeting}"`;
        return variation('way', `"${greeting}" before ${SAID}`, about, says(`${greeting}${value}`));
      });
      const long = variation('fault', `long ${SAID}`, 'A very long text as the answer', says(LONG));
      const isOther = (text: string): boolean => wordsOf(text).join(' ') !== wordsOf(value).join(' ');
      const drawn = Array.from({ length: OTHER_TEXTS }, () => texts[Math.floor(random() * texts.length)]!);
      const due = texts.filter((_, number) => number % TASKS_OF_A_TEXT === place % TASKS_OF_A_TEXT);
      const otherwise = [...new Set([...drawn, ...due])].filter(isOther).map((said): Variation => {
        const about = `Words such as "${startOf(said, 40)}" as the answer`;
        return { ...variation('fault', `other words ${SAID}`, about, says(said)), said };
      });
      if ('text' in move) return [...greeted, long, ...otherwise];
      const spoken = spliced(reference, index, 1, { text: value });
      const about = 'An answer as plain text instead of through a tool';
      return [...greeted, long, ...otherwise, variation('fault', `spoken ${SAID}`, about, spoken)];
    });
  });
}
