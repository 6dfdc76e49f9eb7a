import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import { jaccard } from '../statistics/jaccard';
import { asCall } from './moves';
import { spacedWords, wordRuns, wordsOf } from './words';

/** What a task asks, and what solves it. */
export interface SolvedOpening {
  /** What the agent is asked. */
  prompt: string;
  reference: EnvironmentMove[];
}

/** Words in a run; openings are compared by their runs. */
const RUN_WORDS = 2;
/** Two openings at least this similar ask for the same, apart from the values in them. */
const SAME = 0.75;
/** Openings that are nearly as similar as the most similar one count as well. */
const NEARLY = 0.05;

/**
 * The values that stand in solutions, as words: what differs from task to task and says nothing about what is asked.
 * Words that are said do not count.
 */
export function valueWords(tasks: readonly SolvedOpening[], speaking: ReadonlySet<string>): Set<string> {
  const calls = tasks.flatMap(({ reference }) => reference.map(asCall)).filter(({ name }) => !speaking.has(name));
  return new Set(
    calls.flatMap(({ arguments: given }) => Object.values(given).flatMap((value) => wordsOf(textOf(value)))),
  );
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The runs of words of an opening, with every value as the same word. */
export function openingRuns(prompt: string, values: ReadonlySet<string>): Set<string> {
  const masked = wordsOf(prompt).map((word) => (values.has(word) || /^\d+$/.test(word) ? '#' : word));
  return wordRuns(
    masked.filter((word, index) => word !== '#' || masked[index - 1] !== '#'),
    RUN_WORDS,
  );
}

/**
 * The form of a solution, its steps separated by `; `: which tools it uses, and whether each argument is given in the
 * opening or has to be found out. Calls of one form count once, so that two items or three are the same. Words that are
 * said do not count.
 */
export function solutionForm({ prompt, reference }: SolvedOpening, speaking: ReadonlySet<string>): string {
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

/** Whether the words of a text, from `spacedWords`, hold all of a value's words, in any place. */
export const isGiven = (spaced: string, value: unknown): boolean =>
  wordsOf(textOf(value)).every((word) => spaced.includes(` ${word} `));

/** The tools of each part of a solution, in alphabetical order; a part ends when something is said. */
export function solutionParts(reference: readonly EnvironmentMove[], speaking: ReadonlySet<string>): string[] {
  const parts: string[][] = [[]];
  for (const { name } of reference.map(asCall)) {
    if (speaking.has(name)) parts.push([]);
    else parts.at(-1)!.push(name);
  }
  return parts.filter((part) => part.length > 0).map((part) => part.sort().join(', '));
}

/** Of `openings`, the places of those that ask most nearly for the same as `runs`; none when nothing is similar. */
export function sameOpenings(runs: ReadonlySet<string>, openings: readonly ReadonlySet<string>[]): number[] {
  const similarity = openings.map((other) => jaccard(runs, other));
  const best = similarity.reduce((most, one) => Math.max(most, one), 0);
  return best < SAME ? [] : similarity.flatMap((one, place) => (one >= best - NEARLY ? [place] : []));
}
