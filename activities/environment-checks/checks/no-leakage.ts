import type { Figure } from '../../../contracts/artifacts/environment-check';
import type { EnvironmentCall } from '../../../contracts/messages/environment-protocol';
import type { EnvironmentHandle } from '../../environment';
import { CERTIFICATION, type CheckResult, type Examination, type ExaminedTask, promptOf } from '../examination';
import { shingle, wordsOf } from '../near-duplicates';
import { play } from '../play';
import { seededRandom } from '../../statistics/random';
import type { TargetProfile } from '../target-profile';
import { argumentValues, corrupted } from './isolated';

/**
 * Words of a run that two texts do not share by chance (Brown et al. 2020, appendix C, take 13); shorter texts are
 * compared whole.
 */
const RUN = 13;
/** Below this a text is too common to be a sign of anything. */
const SHORTEST = 8;
/** So many times as many held-out as train tasks, by share, may be asked word for word. */
const HELD_OUT_FACTOR = 3;
/** Tasks whose calls are made with a wrong argument, to see whether the answer names the right one. */
const TASKS = 20;
/** An argument that so few of the agent's tasks give in the opening has to be found out there ... */
const RARELY_GIVEN = 0.5;
/** ... and one that so many of this environment's tasks give is given away. */
const MOSTLY_GIVEN = 0.9;
/** Tasks that must use an argument before a share of them means something. */
const FEWEST = 10;
/**
 * Tasks whose opening holds a call of the solution, or the observations of which name the right argument: chance has a
 * little room.
 */
const MAX_TOLD = 0.05;

/**
 * No text of a held-out task stands in the source, and what the tasks ask is not more like held-out tasks than like
 * train tasks: where both are filled-in phrases, some are the same by chance. `tasks`: as many as there are.
 */
export function checkHeldOut(source: string, tasks: readonly ExaminedTask[], target: TargetProfile): CheckResult {
  const train = target.train.map(runsOf);
  const heldOut = target.heldOut.map(runsOf);
  // A run of words that train tasks have as well may come from the evidence.
  const known = new Set(train.flat());
  const written = ` ${wordsOf(source).join(' ')} `;
  const openings = tasks.map((task) => tokens(promptOf(task)));
  const inSource = heldOut.filter((runs) => runs.some((run) => !known.has(run) && written.includes(` ${run} `))).length;
  const shareOf = (texts: readonly (readonly string[])[]): number =>
    texts.filter(
      (runs) => runs.length > 0 && openings.some((opening) => runs.every((run) => opening.includes(` ${run} `))),
    ).length / Math.max(1, texts.length);
  const [share, usual] = [shareOf(heldOut), shareOf(train)];
  const limit = Math.max(CERTIFICATION.maxHeldOutTexts, HELD_OUT_FACTOR * usual);
  const figures = [
    { name: 'held-out texts in the source', value: inSource, atMost: 0 },
    { name: 'share of held-out texts asked', value: share, atMost: limit },
  ];
  const problems = [
    ...(inSource > 0 ? [`The source holds the text of ${inSource} of ${heldOut.length} held-out tasks.`] : []),
    ...(share > limit
      ? [`${percent(share)} of the held-out tasks are asked word for word, of the train tasks ${percent(usual)}.`]
      : []),
  ];
  if (problems.length > 0) return { passed: false, detail: problems.join(' '), figures };
  return {
    passed: true,
    detail: `None of ${heldOut.length} held-out tasks stands in the source; ${percent(share)} are asked word for word, of the train tasks ${percent(usual)}.`,
    figures,
  };
}

/** Neither the opening nor an observation gives the answer away; everything that does is named. */
export async function checkAnswers(
  environment: EnvironmentHandle,
  { tools, tasks }: Examination,
  target: TargetProfile,
): Promise<CheckResult> {
  const findings = [spelledOut(tasks, target), givenAway(tasks, target), await told(environment, { tools, tasks })];
  const problems = findings.flatMap(({ problem }) => problem ?? []);
  return {
    passed: problems.length === 0,
    detail:
      problems.join(' ') ||
      'The openings give nothing that has to be found out, and wrong calls are not answered with the right values.',
    figures: findings.flatMap(({ figure }) => figure ?? []),
  };
}

interface Finding {
  problem: string | null;
  figure: Figure | null;
}

/**
 * Customers may say "my reference is P41" in the agent's own tasks as well: only what is said more often here is given
 * away.
 */
function spelledOut(tasks: readonly ExaminedTask[], target: TargetProfile): Finding {
  const shareOf = (examined: readonly ExaminedTask[]): number =>
    examined.filter(spellsOut).length / Math.max(1, examined.length);
  const [share, usual] = [shareOf(tasks), shareOf(target.tasks)];
  const limit = Math.min(1, usual + MAX_TOLD);
  const compared = `in ${percent(share)} of the tasks, and in ${percent(usual)} of the agent's own`;
  return {
    problem: share > limit ? `The opening spells out calls of the solution ${compared}.` : null,
    figure: { name: 'tasks whose opening spells out a call', value: share, atMost: limit },
  };
}

/** Arguments that have to be found out in the agent's tasks and stand in the openings of these. */
function givenAway(tasks: readonly ExaminedTask[], target: TargetProfile): Finding {
  const there = givenArguments(target.tasks);
  const given = [...givenArguments(tasks)].flatMap(([argument, { share, uses }]) => {
    const usual = there.get(argument);
    const found =
      uses >= FEWEST && share >= MOSTLY_GIVEN && usual && usual.uses >= FEWEST && usual.share < RARELY_GIVEN;
    return found ? [{ argument, share, usual: usual.share }] : [];
  });
  const sentences = given.map(
    ({ argument, share, usual }) =>
      `The opening gives ${argument}, which has to be found out, in ${percent(share)} of the tasks, and of the agent's own tasks in ${percent(usual)}.`,
  );
  const first = given[0];
  return {
    problem: sentences.join(' ') || null,
    figure: first ? { name: `openings that give ${first.argument}`, value: first.share, atMost: MOSTLY_GIVEN } : null,
  };
}

async function told(environment: EnvironmentHandle, examination: Examination): Promise<Finding> {
  const { tasks, example } = await toldByObservations(environment, examination);
  const share = tasks / Math.min(TASKS, examination.tasks.length);
  const figure = { name: 'tasks whose observations tell', value: share, atMost: MAX_TOLD };
  if (share <= MAX_TOLD) return { problem: null, figure };
  const answered = `${JSON.stringify(example!.call).slice(0, 160)} is answered with ${JSON.stringify(example!.observation.slice(0, 160))}`;
  return {
    problem: `In ${percent(share)} of the tasks a wrong call is answered with the right value: ${answered}.`,
    figure,
  };
}

function runsOf(written: string): string[] {
  const words = wordsOf(written);
  return words.length < SHORTEST ? [] : [...shingle(words, RUN)];
}

/** A call of the solution with its arguments as JSON, or a value of it behind a word such as "answer". */
function spellsOut({ messages, reference }: ExaminedTask): boolean {
  const written = messages.map(({ content }) => content).join('\n');
  const dense = written.replace(/\s+/g, '');
  return reference.some(({ arguments: given }) => {
    const values = Object.values(given).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
    if (values.length > 0 && dense.includes(JSON.stringify(given).replace(/\s+/g, ''))) return true;
    return values.some((value) => value !== '' && LABELLED(value).test(written));
  });
}

const LABELLED = (value: string): RegExp =>
  new RegExp(
    `\\b(answer|solution|expected|correct|reference)\\w*["']?\\s*(:|=|is)\\s*["']?${value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\p{L}\\p{N}])`,
    'iu',
  );

/** For each argument of the solutions: in how many of the tasks that use it its value stands in the opening. */
function givenArguments(tasks: readonly ExaminedTask[]): Map<string, { share: number; uses: number }> {
  const counts = new Map<string, { given: number; uses: number }>();
  for (const task of tasks) {
    const opening = tokens(promptOf(task));
    const seen = new Map<string, boolean>();
    for (const { name, arguments: all } of task.reference) {
      for (const [key, value] of Object.entries(all))
        seen.set(`${name}.${key}`, (seen.get(`${name}.${key}`) ?? true) && holds(opening, value));
    }
    for (const [argument, given] of seen) {
      const count = counts.get(argument) ?? { given: 0, uses: 0 };
      counts.set(argument, { given: count.given + Number(given), uses: count.uses + 1 });
    }
  }
  return new Map([...counts].map(([argument, { given, uses }]) => [argument, { share: given / uses, uses }]));
}

const tokens = (written: string): string => ` ${wordsOf(written).join(' ')} `;
const holds = (written: string, value: unknown): boolean => {
  const wanted = wordsOf(typeof value === 'string' ? value : JSON.stringify(value)).join(' ');
  return wanted !== '' && written.includes(` ${wanted} `);
};
const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** Tasks in which a call with one wrong argument is answered with the right value, which nothing had shown before. */
async function toldByObservations(
  environment: EnvironmentHandle,
  { tools, tasks }: Examination,
): Promise<{ tasks: number; example: { call: EnvironmentCall; observation: string } | null }> {
  const values = argumentValues(tasks);
  // An error that lists what the schema allows tells nothing.
  const schemas = JSON.stringify(tools);
  let example: { call: EnvironmentCall; observation: string } | null = null;
  const told = await Promise.all(
    tasks.slice(0, TASKS).map(async (task) => {
      const random = seededRandom(task.seed);
      const opening = promptOf(task);
      const found = await Promise.all(
        task.reference.flatMap((call, position) =>
          corrupted(call, values, random).map(async (wrong) => {
            const { observations } = await play(environment, task.seed, [...task.reference.slice(0, position), wrong]);
            const observation = observations[position];
            if (observation === undefined) return false;
            const before = tokens(
              [opening, schemas, ...observations.slice(0, position), JSON.stringify(wrong.arguments)].join('\n'),
            );
            const changed = Object.entries(call.arguments).find(([key, value]) => value !== wrong.arguments[key])?.[1];
            // Of two values a wrong one tells the other by itself, and the word for it stands in many answers.
            const tells =
              changed !== undefined &&
              typeof changed !== 'boolean' &&
              !holds(before, changed) &&
              holds(tokens(observation), changed);
            if (tells) example ??= { call: wrong, observation };
            return tells;
          }),
        ),
      );
      return found.some(Boolean);
    }),
  );
  return { tasks: told.filter(Boolean).length, example };
}
