import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import { jaccard } from '../statistics/jaccard';
import { asCall } from './moves';
import { spacedWords, textOf, wordRuns, wordsOf } from './words';

/** A task's request and its solution. */
export interface SolvedOpening {
  /** The request. */
  prompt: string;
  reference: EnvironmentMove[];
  /** The answers to the solution's moves, in order; fewer if the episode ended before. */
  observations: string[];
}

/** Words in a run; openings are compared by their word runs. */
const RUN_WORDS = 2;
/** Two openings at least this similar have the same request, apart from their values. */
const SAME = 0.75;
/** Openings nearly as similar as the most similar one also count. */
const NEARLY = 0.05;

/**
 * The words of all values in the solutions. They differ between tasks and say nothing about the kind of request. What
 * the agent says to the user does not count.
 */
export function valueWords(
  tasks: readonly Pick<SolvedOpening, 'reference'>[],
  speaking: ReadonlySet<string>,
): Set<string> {
  const calls = tasks.flatMap(({ reference }) => reference.map(asCall)).filter(({ name }) => !speaking.has(name));
  return new Set(
    calls.flatMap(({ arguments: given }) => Object.values(given).flatMap((value) => wordsOf(textOf(value)))),
  );
}

/** The word runs of an opening, with every value replaced by the same word. */
export function openingRuns(prompt: string, values: ReadonlySet<string>): Set<string> {
  const masked = wordsOf(prompt).map((word) => (values.has(word) || /^\d+$/.test(word) ? '#' : word));
  return wordRuns(
    masked.filter((word, index) => word !== '#' || masked[index - 1] !== '#'),
    RUN_WORDS,
  );
}

/**
 * The form of a solution, with its steps separated by `; `: which tools it uses, and for each argument whether the
 * opening gives it or it must be looked up. Calls of one form count once, so that two items have the same form as
 * three. What the agent says to the user does not count.
 */
export function solutionForm(
  { prompt, reference }: Pick<SolvedOpening, 'prompt' | 'reference'>,
  speaking: ReadonlySet<string>,
): string {
  const opening = spacedWords(prompt);
  const forms = reference
    .map(asCall)
    .filter(({ name }) => !speaking.has(name))
    .map(({ name, arguments: given }) => {
      const found = Object.entries(given)
        .filter(([, value]) => !isGiven(opening, value))
        .map(([key]) => key);
      return found.length > 0 ? `${name} (${found.sort().join(', ')} found out)` : name;
    });
  return [...new Set(forms)].sort().join('; ');
}

/** Whether a text, from `spacedWords`, contains all words of a value, in any order. */
export const isGiven = (spaced: string, value: unknown): boolean =>
  wordsOf(textOf(value)).every((word) => spaced.includes(` ${word} `));

/** The tools of each part of a solution, in alphabetical order; a part ends when the agent says something. */
export function solutionParts(reference: readonly EnvironmentMove[], speaking: ReadonlySet<string>): string[] {
  const parts: string[][] = [[]];
  for (const { name } of reference.map(asCall)) {
    if (speaking.has(name)) parts.push([]);
    else parts.at(-1)!.push(name);
  }
  return parts.filter((part) => part.length > 0).map((part) => part.sort().join(', '));
}

/** Indexes of the `openings` that are most similar to `runs`; empty if none is similar. */
export function sameOpenings(runs: ReadonlySet<string>, openings: readonly ReadonlySet<string>[]): number[] {
  const similarity = openings.map((other) => jaccard(runs, other));
  const best = similarity.reduce((most, one) => Math.max(most, one), 0);
  return best < SAME ? [] : similarity.flatMap((one, place) => (one >= best - NEARLY ? [place] : []));
}
