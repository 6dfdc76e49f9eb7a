import { isAbove } from '../beyond-chance';
import { type CheckInput, type CheckResult, resultOf, wholePercent } from '../check';
import { bySeedRange, type EnvironmentTask, promptOf } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import { SAID, speakingTools } from '../moves';
import { fitOpeningModel, numberOpenings } from '../opening-model';
import { openingRuns, sameOpenings, solutionForm, solutionParts, valueWords } from '../solution-forms';
import { amongPractice, type Foretelling, trustedVerdict } from '../step-verdicts';
import type { TargetProfile } from '../target-profile';
import { chanceOfAtLeast } from '../../../contracts/statistics/exact-tails';
import { startOf } from '../../../contracts/clean-text';

/** Solutions are compared if at least this many tasks have a request like one of the agent's tasks. */
const FEWEST_ALIKE = 10;
/** A task is compared if at least this many of the agent's tasks have the same request. */
const FEWEST_NEIGHBOURS = 2;
/** Another ending counts if at least this many of the agent's tasks have it; fewer may be chance. */
const FEWEST_OF_A_FORM = 3;
/** The share of validations that may miss another ending by chance. */
const BY_CHANCE = 0.01;
const FORETELLING: Foretelling = { fit: fitOpeningModel, sure: 0.9, mostErrors: 0.03, adjust: amongPractice };

/**
 * Makes four checks. Most openings must be worded like the agent's, because other openings are not compared. Tasks
 * worded like the agent's must have solutions like the agent's. They must not all end in one way if the agent's end in
 * several. Most solutions must reuse steps of the agent's own solutions. Values are not compared, and tasks without a
 * similar request of the agent are left out.
 */
export function checkSolutions({ tools, tasks }: CheckInput, target: TargetProfile): CheckResult {
  const { solved } = target;
  if (solved.length === 0)
    return resultOf([], "Nothing to compare with: the agent's own environment has no reference solutions.", []);
  const speaking = speakingTools(
    tools,
    [...solved, ...tasks].map(({ reference }) => reference),
  );
  const here = tasks.map((task) => ({ ...task, prompt: promptOf(task) }));
  const values = valueWords([...solved, ...here], speaking);
  const openings = solved.map(({ prompt }) => openingRuns(prompt, values));
  const forms = solved.map((task) => solutionForm(task, speaking));
  const known = new Set(openings.flatMap((runs) => [...runs]));
  const surpriseOf = surpriseFinder(openings, forms);
  const compared = here.map((task): Compared => {
    const runs = openingRuns(task.prompt, values);
    const form = solutionForm(task, speaking);
    const neighbours = sameOpenings(runs, openings).map((place) => ({ place, form: forms[place]! }));
    return { ...task, form, isFamiliar: isFamiliar(runs, known), surprise: surpriseOf(runs, form), neighbours };
  });
  const ranges = bySeedRange(compared);
  const findings = [
    ...ranges.map(({ name, tasks: inRange }) => otherWords(name, inRange)),
    ...ranges.map(({ name, tasks: inRange }) => otherTools(name, inRange)),
    strangeParts(tasks, target, speaking),
    ...ranges.flatMap(({ name, tasks: inRange }) => {
      const alike = inRange.filter(({ neighbours }) => neighbours.length >= FEWEST_NEIGHBOURS);
      return alike.length < FEWEST_ALIKE ? [] : otherEndings(name, alike);
    }),
  ];
  const problems = findings.flatMap(({ problem }) => problem ?? []);
  return resultOf(
    [...new Set(problems)],
    `Of ${tasks.length} tasks ${compared.filter(({ neighbours }) => neighbours.length >= FEWEST_NEIGHBOURS).length} ` +
      "ask as the agent's own do, and are solved alike.",
    [...findings]
      .sort((a, b) => Number(a.problem === null) - Number(b.problem === null))
      .flatMap(({ problem, figure }) => (problem !== null || figure.value > 0 ? figure : []))
      .slice(0, 4),
  );
}

interface Finding {
  problem: string | null;
  figure: CheckResult['figures'][number];
}

/** A task, with the solution forms of the agent's tasks that have the same request. */
interface Compared extends EnvironmentTask {
  form: string;
  /** The opening is worded like the agent's. */
  isFamiliar: boolean;
  surprise: Surprise | null;
  neighbours: Neighbour[];
}

/** A task of the agent with the same request: its index, and the form of its solution. */
interface Neighbour {
  place: number;
  form: string;
}

/** Whether most word runs of an opening are known from the agent's openings. */
const isFamiliar = (runs: ReadonlySet<string>, known: { has: (run: string) => boolean }): boolean =>
  [...runs].filter((run) => known.has(run)).length >= CHECK_LIMITS.minFamiliarPairs * runs.size;

/** Tasks that ask in other words than the agent's, where nothing tells whether they are solved like the agent's. */
function otherWords(range: string, tasks: readonly Compared[]): Finding {
  const strange = tasks.filter((task) => !task.isFamiliar);
  const limit = CHECK_LIMITS.maxUnfamiliarOpenings;
  const share = strange.length / tasks.length;
  return {
    problem: isAbove(strange.length, tasks.length, limit)
      ? `${wholePercent(share)} of the tasks ${range} ask in other words than the agent's own, such as ` +
        `${JSON.stringify(startOf(promptOf(strange[0]!), 120))}: most pairs of neighbouring words have to be in openings ` +
        "of the agent's own tasks, so that what these ask for can be compared."
      : null,
    figure: { name: `tasks ${range} in other words`, value: share, atMost: limit },
  };
}

/** Tasks whose opening predicts a tool that the solution lacks, or rules out a tool that it uses. */
function otherTools(range: string, tasks: readonly Compared[]): Finding {
  const surprises = tasks.flatMap((task) => (task.surprise === null ? [] : [{ task, ...task.surprise }]));
  const share = surprises.length / tasks.length;
  const limit = CHECK_LIMITS.maxSolvedOtherwise;
  const example = surprises[0];
  return {
    problem:
      share > limit
        ? `${wholePercent(share)} of the tasks ${range} are solved otherwise than the agent's own with such openings: ` +
          `${JSON.stringify(startOf(promptOf(example!.task), 120))} ${example!.expected ? 'without' : 'with'} ` +
          `${example!.step}, there ${example!.expected ? 'with' : 'without'} it.`
        : null,
    figure: { name: `tasks ${range} solved otherwise`, value: share, atMost: limit },
  };
}

const stepsOf = (form: string): string[] => (form === '' ? [] : form.split('; '));

/** A step of a solution that contradicts the prediction from the agent's tasks. */
interface Surprise {
  step: string;
  expected: boolean;
}

/**
 * Finds a step of a solution that contradicts the prediction for its opening. The prediction is learnt from the agent's
 * tasks. Null if the solution matches the prediction, or if the agent's openings lack many of the opening's word runs.
 */
function surpriseFinder(
  openings: readonly Set<string>[],
  forms: readonly string[],
): (runs: ReadonlySet<string>, form: string) => Surprise | null {
  const { rows, features } = numberOpenings(openings);
  const foretold = [...new Set(forms.flatMap(stepsOf))].flatMap((step) => {
    const has = forms.map((form) => stepsOf(form).includes(step));
    const model = trustedVerdict(rows, has, features.size, FORETELLING);
    return model === null ? [] : [{ step, verdict: model.verdict }];
  });
  return (runs, form) => {
    if (!isFamiliar(runs, features)) return null;
    const row = Int32Array.from([...runs].flatMap((run) => features.get(run) ?? []));
    const steps = stepsOf(form);
    for (const { step, verdict } of foretold) {
      const expected = verdict(row);
      if (expected !== null && expected !== steps.includes(step)) return { step, expected };
    }
    return null;
  };
}

/**
 * Whether the openings alone tell what to do: the agent's tasks with such openings end in several ways, and those here
 * nearly always in one. Which other ways occur is free, because another way may be the skill of another capability.
 */
function otherEndings(range: string, alike: readonly Compared[]): Finding[] {
  const groups = [...Map.groupBy(alike, ({ neighbours }) => neighbours.map(({ place }) => place).join()).values()]
    .filter((group) => group.length > 1)
    .map(endingsOf);
  const tasks = groups.reduce((sum, { size }) => sum + size, 0);
  const others = groups.flatMap((group) => group.others.map((one) => ({ ...one, weight: group.size / tasks })));
  if (new Set(others.map(({ place }) => place)).size < FEWEST_OF_A_FORM) return [];
  const usual = others.reduce((sum, { share, weight }) => sum + share * weight, 0);
  const least = CHECK_LIMITS.minOtherEndings * usual;
  const most = groups.reduce((sum, { count }) => sum + count, 0);
  const met = 1 - most / tasks;
  // As many or more of the most frequent forms, if only the least share had another one.
  const chance = chanceOfAtLeast(most, new Array<number>(tasks).fill(1 - least));
  const figure = { name: `tasks ${range} that end otherwise than most`, value: met, atLeast: least };
  if (met >= least || chance >= BY_CHANCE) return [{ problem: null, figure }];
  const here = [...new Set(groups.filter((group) => group.others.length > 0).map(({ form }) => form))];
  const shares = [...Map.groupBy(others, ({ form }) => form)]
    .map(([form, some]) => ({ form, share: some.reduce((sum, { share, weight }) => sum + share * weight, 0) }))
    .sort((a, b) => b.share - a.share);
  const ways = shares.map(({ form, share }) => `${form || 'words alone'} (${wholePercent(share)})`).join(', ');
  return [
    {
      problem:
        `Of the tasks ${range} whose openings are like the agent's, ${wholePercent(1 - met)} are solved in the most ` +
        `frequent way for the opening: ${here.map((form) => form || 'words alone').join(' or ')}. Of the agent's own, ` +
        `${wholePercent(usual)} are solved otherwise: ${ways}. Let at least ${wholePercent(least)} end in one or more ` +
        'other ways, so that the openings alone do not tell what to do. It need not be all of them: steps that ' +
        'another need asks for may be left out.',
      figure,
    },
  ];
}

/** The most frequent form of tasks with one opening, and the agent's tasks with such an opening and another form. */
function endingsOf(group: readonly Compared[]) {
  const [form, count] = [...Map.groupBy(group, (task) => task.form)]
    .map(([name, tasks]) => [name, tasks.length] as const)
    .reduce((a, b) => (b[1] > a[1] ? b : a));
  const { neighbours } = group[0]!;
  const others = neighbours.filter((one) => one.form !== form).map((one) => ({ ...one, share: 1 / neighbours.length }));
  return { form, count, size: group.length, others };
}

/**
 * The share of solutions whose every part uses only tools that occur together in a part of one of the agent's
 * solutions.
 */
function strangeParts(tasks: readonly EnvironmentTask[], { solved }: TargetProfile, speaking: Set<string>): Finding {
  const known = new Set(solved.flatMap(({ reference }) => solutionParts(reference, speaking)));
  const familiar = tasks.filter(({ reference }) => solutionParts(reference, speaking).every((part) => known.has(part)));
  const share = familiar.length / tasks.length;
  const limit = CHECK_LIMITS.minFamiliarSolutions;
  const strange = tasks.find((task) => !familiar.includes(task));
  return {
    problem:
      share < limit
        ? `Only ${wholePercent(share)} of the solutions are made of calls as the agent's own are; the one of seed ` +
          `${strange!.seed} is ${solutionParts(strange!.reference, speaking).join(`, ${SAID}; `)}.`
        : null,
    figure: { name: 'familiar solutions', value: share, atLeast: limit },
  };
}
