import type { Figure } from '../../../contracts/artifacts/environment-check';
import type { EnvironmentMove } from '../../../contracts/messages/environment-protocol';
import { startOf } from '../../../contracts/clean-text';
import type { EnvironmentHandle } from '../../environment';
import { seededRandom } from '../../statistics/random';
import { type CheckInput, type CheckResult, resultOf, wholePercent } from '../check';
import { bySeedRange, type EnvironmentTask, promptOf } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import { asCall, speakingTools } from '../moves';
import { play } from '../play';
import { isGiven } from '../solution-forms';
import type { TargetProfile } from '../target-profile';
import { spacedWords, textOf, wordsOf } from '../words';
import { argumentValues, withOneWrongArgument } from '../wrong-arguments';

/** Number of tasks on which calls with a wrong argument are made, to see whether the answer names the right value. */
const TASKS = 20;
/** If the openings of less than this share of the agent's tasks give an argument, the agent has to look it up. */
const RARELY_GIVEN = CHECK_LIMITS.minOpeningsThatGive;
/** The agent's openings usually give an argument if at least this share of its tasks do. */
const ALWAYS_GIVEN = 0.9;
/** A value to look up varies in the agent's own tasks if at most this share of them have the same one. */
const VARIED = 0.5;
/** An argument is judged only if at least this many tasks use it, here and in the agent's own environment. */
const FEWEST_USES = 10;
/** Checks that neither the openings nor the observations reveal the answers. Its result names every leak. */
export async function checkAnswers(
  environment: EnvironmentHandle,
  { tools, tasks }: CheckInput,
  target: TargetProfile,
): Promise<CheckResult> {
  const findings = [
    callsSpelledOut(tasks, target),
    ...bySeedRange(tasks).flatMap((range) => [
      argumentsGivenAway(range, target),
      argumentsWithheld(range, target),
      sameAnswer(range, { tools, tasks }, target),
    ]),
    await rightValuesRevealed(environment, { tools, tasks }),
  ];
  const problems = findings.flatMap(({ problem }) => problem ?? []);
  return resultOf(
    [...new Set(problems)],
    'The openings give nothing that has to be found out, and wrong calls are not answered with the right values.',
    findings.flatMap(({ figure }) => figure ?? []),
  );
}

interface Finding {
  problem: string | null;
  figure: Figure | null;
}

/**
 * Openings that state calls of the solution. The agent's own users may do so at times ("my reference is P41"). So only
 * a larger share than among the agent's own tasks is a leak.
 */
function callsSpelledOut(tasks: readonly EnvironmentTask[], target: TargetProfile): Finding {
  const shareOf = (some: readonly EnvironmentTask[]): number =>
    some.filter(spellsOutCall).length / Math.max(1, some.length);
  const [share, usual] = [shareOf(tasks), shareOf(target.tasks)];
  const limit = Math.min(1, usual + CHECK_LIMITS.maxAnswersTold);
  const compared = `in ${wholePercent(share)} of the tasks, and in ${wholePercent(usual)} of the agent's own`;
  return {
    problem: share > limit ? `The opening spells out calls of the solution ${compared}.` : null,
    figure: { name: 'tasks whose opening spells out a call', value: share, atMost: limit },
  };
}

interface Range {
  name: string;
  tasks: readonly EnvironmentTask[];
}

/** Arguments that at least `FEWEST_USES` tasks use on both sides, in the order of the first side. */
function usedInBoth<T extends { uses: number }>(some: ReadonlyMap<string, T>, others: ReadonlyMap<string, T>) {
  return [...some].flatMap(([argument, one]) => {
    const other = others.get(argument);
    return other && Math.min(one.uses, other.uses) >= FEWEST_USES ? [{ argument, one, other }] : [];
  });
}

/** Arguments that the agent must look up in its own tasks, but that the openings of these tasks give. */
function argumentsGivenAway({ tasks }: Range, target: TargetProfile): Finding {
  const given = usedInBoth(givenArguments(tasks), givenArguments(target.tasks)).filter(
    ({ one, other }) => one.share >= CHECK_LIMITS.maxOpeningsThatGive && other.share < RARELY_GIVEN,
  );
  const [first] = given;
  if (first === undefined) return { problem: null, figure: null };
  const sentences = given.map(
    ({ argument, one, other }) =>
      `The opening gives ${argument}, which has to be found out, in ${wholePercent(one.share)} of the tasks, ` +
      `and of the agent's own tasks in ${wholePercent(other.share)}.`,
  );
  return {
    problem: sentences.join(' '),
    figure: {
      name: `openings that give ${first.argument}`,
      value: first.one.share,
      atMost: CHECK_LIMITS.maxOpeningsThatGive,
    },
  };
}

/** Arguments that the openings of the agent's own tasks give, but that the agent must look up here. */
function argumentsWithheld({ tasks, name }: Range, target: TargetProfile): Finding {
  const withheld = usedInBoth(givenArguments(target.tasks), givenArguments(tasks)).find(
    ({ one, other }) => one.share >= ALWAYS_GIVEN && other.share < RARELY_GIVEN,
  );
  if (withheld === undefined) return { problem: null, figure: null };
  const { argument, one: usual, other: here } = withheld;
  return {
    problem:
      `The opening gives ${argument} in ${wholePercent(here.share)} of the tasks ${name}, and in ` +
      `${wholePercent(usual.share)} of the agent's own: here it has to be found out.`,
    figure: { name: `openings that give ${argument}`, value: here.share, atLeast: RARELY_GIVEN },
  };
}

/**
 * Arguments whose unknown part is the same in nearly all tasks, so that no look-up is needed. What the agent says to
 * the user does not count.
 */
function sameAnswer({ tasks, name }: Range, { tools }: CheckInput, target: TargetProfile): Finding {
  const speaking = speakingTools(
    tools,
    [...tasks, ...target.tasks].map(({ reference }) => reference),
  );
  const same = usedInBoth(foundOut(tasks, speaking), foundOut(target.tasks, speaking)).find(
    ({ one, other }) => one.share >= CHECK_LIMITS.maxSameFoundOut && other.share <= VARIED,
  );
  if (same === undefined) return { problem: null, figure: null };
  const { argument, one: found } = same;
  return {
    problem:
      `What has to be found out for ${argument} is ${JSON.stringify(found.value)} in ` +
      `${wholePercent(found.share)} of the tasks ${name}: it need not be looked up.`,
    figure: { name: `tasks with the same ${argument}`, value: found.share, atMost: CHECK_LIMITS.maxSameFoundOut },
  };
}

/** For each argument that openings do not give completely: its most frequent unknown part, with that part's share. */
function foundOut(
  tasks: readonly EnvironmentTask[],
  speaking: ReadonlySet<string>,
): Map<string, { value: string; share: number; uses: number }> {
  const parts = new Map<string, string[]>();
  for (const task of tasks) {
    const opening = spacedWords(promptOf(task));
    for (const { name, arguments: given } of task.reference.map(asCall)) {
      if (speaking.has(name)) continue;
      for (const [key, value] of Object.entries(given)) {
        const unknown = wordsOf(textOf(value)).filter((word) => !opening.includes(` ${word} `));
        if (unknown.length > 0)
          parts.set(`${name}.${key}`, [...(parts.get(`${name}.${key}`) ?? []), unknown.join(' ')]);
      }
    }
  }
  return new Map(
    [...parts].map(([argument, values]) => {
      const counts = new Map<string, number>();
      for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
      const [value, count] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
      return [argument, { value, share: count / values.length, uses: values.length }];
    }),
  );
}

/** Wrong calls whose answers contain the right value. */
async function rightValuesRevealed(environment: EnvironmentHandle, input: CheckInput): Promise<Finding> {
  const { tasks, example } = await revealingTasks(environment, input);
  const share = tasks / Math.min(TASKS, input.tasks.length);
  const figure = { name: 'tasks whose observations tell', value: share, atMost: CHECK_LIMITS.maxAnswersTold };
  if (share <= CHECK_LIMITS.maxAnswersTold) return { problem: null, figure };
  const call = startOf(JSON.stringify(example!.call), 160);
  const answered = `${call} is answered with ${JSON.stringify(startOf(example!.observation, 160))}`;
  return {
    problem: `In ${wholePercent(share)} of the tasks a wrong call is answered with the right value: ${answered}.`,
    figure,
  };
}

/**
 * Whether the opening contains the arguments of a solution's call as JSON, or one of their values after a word such as
 * "answer".
 */
function spellsOutCall({ messages, reference }: EnvironmentTask): boolean {
  const written = messages.map(({ content }) => content).join('\n');
  const dense = written.replace(/\s+/g, '');
  return reference.map(asCall).some(({ arguments: given }) => {
    const values = Object.values(given).map(textOf);
    if (values.length > 0 && dense.includes(JSON.stringify(given).replace(/\s+/g, ''))) return true;
    return values.some((value) => value !== '' && announced(value).test(written));
  });
}

/** Matches the value after a word that announces an answer: `correct: 7`, `the answer is 7`. */
function announced(value: string): RegExp {
  const literal = value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(
    `\\b(answer|solution|expected|correct|reference)\\w*["']?\\s*(:|=|is)\\s*["']?${literal}(?![\\p{L}\\p{N}])`,
    'iu',
  );
}

/**
 * For each argument of the solutions (`tool.argument`): the number of tasks that use it, and the share of these whose
 * opening contains its value.
 */
function givenArguments(tasks: readonly EnvironmentTask[]): Map<string, { share: number; uses: number }> {
  const counts = new Map<string, { given: number; uses: number }>();
  for (const task of tasks) {
    const opening = spacedWords(promptOf(task));
    const seen = new Map<string, boolean>();
    for (const { name, arguments: all } of task.reference.map(asCall)) {
      for (const [key, value] of Object.entries(all))
        seen.set(`${name}.${key}`, (seen.get(`${name}.${key}`) ?? true) && isGiven(opening, value));
    }
    for (const [argument, given] of seen) {
      const count = counts.get(argument) ?? { given: 0, uses: 0 };
      counts.set(argument, { given: count.given + Number(given), uses: count.uses + 1 });
    }
  }
  return new Map([...counts].map(([argument, { given, uses }]) => [argument, { share: given / uses, uses }]));
}

/** Whether a text, given by `spacedWords`, contains the value's words in a row. */
function holds(spaced: string, value: unknown): boolean {
  const wanted = wordsOf(textOf(value)).join(' ');
  return wanted !== '' && spaced.includes(` ${wanted} `);
}

/**
 * Counts the tasks that reveal a right value: the answer to a call with one wrong argument names it, although nothing
 * before showed it. The example is the first such call and its answer.
 */
async function revealingTasks(
  environment: EnvironmentHandle,
  { tools, tasks }: CheckInput,
): Promise<{ tasks: number; example: { call: EnvironmentMove; observation: string } | null }> {
  const values = argumentValues(tasks);
  // An error message that lists the values of the schema reveals nothing.
  const schemas = JSON.stringify(tools);
  let example: { call: EnvironmentMove; observation: string } | null = null;
  const revealing = await Promise.all(
    tasks.slice(0, TASKS).map(async (task) => {
      const random = seededRandom(task.seed);
      const opening = promptOf(task);
      const found = await Promise.all(
        task.reference.flatMap((call, position) =>
          withOneWrongArgument(call, values, random).map(async ({ move: wrong, right }) => {
            const { observations } = await play(environment, task.seed, [...task.reference.slice(0, position), wrong]);
            const observation = observations[position];
            if (observation === undefined) return false;
            const before = spacedWords(
              [opening, schemas, ...observations.slice(0, position), JSON.stringify(asCall(wrong).arguments)].join(
                '\n',
              ),
            );
            // Booleans are not judged: the wrong value implies the right one anyway, and many answers contain "true".
            const reveals =
              right !== undefined &&
              typeof right !== 'boolean' &&
              !holds(before, right) &&
              holds(spacedWords(observation), right);
            if (reveals) example ??= { call: wrong, observation };
            return reveals;
          }),
        ),
      );
      return found.some(Boolean);
    }),
  );
  return { tasks: revealing.filter(Boolean).length, example };
}
