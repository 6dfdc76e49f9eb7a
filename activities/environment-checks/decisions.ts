import { argumentUses } from './argument-sources';
import { type KnownArguments, sourceOf } from './known-sources';
import { asCall } from './moves';
import { givenValues, observedValues, wordsOfAnswer } from './observed-values';
import { openingRuns, type SolvedOpening } from './solution-forms';
import { textOf, wordRuns, wordsOf } from './words';

/** A moment of a solution: a call was answered, and the next steps follow from what has been seen. */
export interface Decision {
  /** The tool that answered. */
  tool: string;
  /** Features of the request: its words, and those around the objects of the call. */
  request: ReadonlySet<string>;
  /** Features of the tool's answer. Earlier answers do not count, because look-ups may come in any order. */
  answers: ReadonlySet<string>;
  /** Later steps about the same objects, in this part of the solution. */
  steps: ReadonlySet<string>;
}

/** Thresholds of numbers, by path of the value; in ascending order. */
type Thresholds = ReadonlyMap<string, readonly number[]>;

/** What is needed to read decisions from solutions. */
export interface DecisionContext {
  known: KnownArguments;
  speaking: ReadonlySet<string>;
  /** Words that are values; from `valueWords`. */
  values: ReadonlySet<string>;
  thresholds: Thresholds;
}

/** A longer text differs between tasks and decides nothing, in words. */
const LONGEST_WORDS = 3;
/** Words before and after an object in the request. */
const AROUND = 6;
/** Numbers of one path are compared with this many thresholds, if there are more different ones. */
const THRESHOLDS = 20;

/** Thresholds for the numbers that the answers show. */
export function thresholdsOf(solved: readonly SolvedOpening[]): Thresholds {
  const numbers = new Map<string, Set<number>>();
  for (const { reference, observations } of solved)
    for (const [position, observation] of observations.entries())
      for (const { path, value } of observedValues(reference[position]!, observation))
        if (typeof value === 'number') numbers.set(path, (numbers.get(path) ?? new Set()).add(value));
  return new Map(
    [...numbers].map(([path, found]) => {
      const sorted = [...found].sort((a, b) => a - b);
      const count = Math.min(THRESHOLDS, sorted.length);
      const chosen = Array.from({ length: count }, (_, index) => sorted[Math.floor((index * sorted.length) / count)]!);
      return [path, [...new Set(chosen)]];
    }),
  );
}

/** The decisions of a task's solution, one for each call that an answer was given to and that is no speech. */
export function decisionsOf(task: SolvedOpening, context: DecisionContext): Decision[] {
  const { speaking, known, values } = context;
  const names = task.reference.map((move) => asCall(move).name);
  const uses = Map.groupBy(argumentUses(task, speaking, known.fixed), ({ position }) => position);
  const opening = [...openingRuns(task.prompt, values)].map((run) => `the request: ${run}`);
  let asked = task.prompt;
  return task.reference.flatMap((move, position): Decision[] => {
    const observation = task.observations[position];
    if (speaking.has(names[position]!)) {
      asked = observation === undefined || observation === '' ? asked : observation;
      return [];
    }
    if (observation === undefined) return [];
    const end = names.findIndex((name, place) => place > position && speaking.has(name));
    const objects = new Set(
      [...givenValues(move), ...observedValues(move, observation)].map(({ value }) => textOf(value)),
    );
    const later = task.reference.slice(position + 1, end < 0 ? undefined : end + 1);
    const steps = later.flatMap((step, index) => {
      const given = givenValues(step);
      const isSpeech = speaking.has(asCall(step).name);
      const isAbout = isSpeech || given.length === 0 || given.some(({ value }) => objects.has(textOf(value)));
      return isAbout ? stepNames(asCall(step).name, uses.get(position + 1 + index) ?? [], known) : [];
    });
    const own = givenValues(move).map(({ value }) => textOf(value));
    return [
      {
        tool: names[position]!,
        request: new Set([...opening, ...wordsAround(asked, own, values)]),
        answers: new Set(answerFacts(task, position, context)),
        steps: new Set(steps),
      },
    ];
  });
}

/** The values that the answer to a move shows, as features. */
function answerFacts({ reference, observations }: SolvedOpening, position: number, context: DecisionContext): string[] {
  const [move, observation] = [reference[position]!, observations[position] ?? ''];
  const values = observedValues(move, observation);
  const lists = [...Map.groupBy(values, ({ path }) => path)]
    .filter(([path]) => /\[\]|\*/.test(path))
    .map(([path, some]) => `${path} is there ${some.length} times`);
  const shown = values.flatMap(({ path, value }): string[] => {
    if (typeof value === 'number')
      return (context.thresholds.get(path) ?? [])
        .filter((threshold) => value >= threshold)
        .map((threshold) => `${path} is at least ${threshold}`);
    const text = textOf(value);
    return wordsOf(text).length <= LONGEST_WORDS ? [`${path} is ${text}`] : [];
  });
  const words = wordsOfAnswer(observation).map((word) => (context.values.has(word) ? '#' : word));
  return [...lists, ...shown, ...[...wordRuns(words, 2)].map((run) => `${asCall(move).name} says ${run}`)];
}

/** The words around the mentions of objects in the request. */
function wordsAround(asked: string, objects: readonly string[], values: ReadonlySet<string>): string[] {
  const words = wordsOf(asked);
  const runs = objects.map(wordsOf).filter((run) => run.length > 0);
  return words.flatMap((_, place) =>
    runs
      .filter((run) => run.every((word, index) => words[place + index] === word))
      .flatMap((run) => {
        const near = [
          ...words.slice(Math.max(0, place - AROUND), place),
          ...words.slice(place + run.length, place + run.length + AROUND),
        ];
        const [before, after] = [words[place - 1] ?? '', words[place + run.length] ?? ''];
        return [
          `before the object: ${values.has(before) ? '#' : before}`,
          `behind the object: ${values.has(after) ? '#' : after}`,
          ...near.filter((word) => !values.has(word)).map((word) => `near the object: ${word}`),
        ];
      }),
  );
}

/** A step: the tool, and where each argument with several known sources comes from. */
function stepNames(name: string, uses: ReturnType<typeof argumentUses>, known: KnownArguments): string[] {
  const from = uses.flatMap((use) => {
    const own = known.byArgument.get(use.argument);
    if (own === undefined || own.sources.length < 2) return [];
    const source = sourceOf(use, own);
    return source === undefined ? [] : [`${use.argument} from ${source.text}`];
  });
  return [name, ...from];
}
