import { type CheckInput, type CheckResult, wholePercent } from '../check';
import { bySeedRange, type EnvironmentTask, promptOf } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import { SAID, speakingTools } from '../moves';
import { fitOpeningModel, numberOpenings, type OpeningModel } from '../opening-model';
import { openingRuns, sameOpenings, solutionForm, solutionParts, valueWords } from '../solution-forms';
import type { TargetProfile } from '../target-profile';

/** Fewest tasks that ask for the same as tasks of the agent's, so that their solutions are compared. */
const FEWEST_ALIKE = 10;
/** Fewest tasks of the agent's that ask for the same as one. */
const FEWEST_NEIGHBOURS = 2;
/** Fewest tasks of the agent's with a form of solution; fewer may have been drawn by chance. */
const FEWEST_OF_A_FORM = 3;
/** A form of solution that at least this share of the agent's tasks has must be met ... */
const COMMON = 0.2;
/** ... at least this many times as often. */
const MET = 0.2;
/** Share of an opening's runs of words that the agent's openings must have, so that its solution is foretold. */
const FAMILIAR = 0.8;
/** Chance from which on a step of the solution counts as certain, and one minus it as ruled out. */
const SURE = 0.9;
/** Parts of the agent's tasks that are foretold from the others, and the share of errors that a model may make. */
const FOLDS = 3;
const MOST_ERRORS = 0.03;
/** A share below which a form of solution counts as never met. */
const NEVER = 0.01;

/**
 * Checks that what is asked as the agent's users ask it is solved as the agent has to solve it, that the ways in
 * which such tasks end all appear, and that most solutions are made of parts that the agent's own tasks have. Values
 * are left out of the comparison, and so are tasks that ask for something else than any of the agent's.
 */
export function checkSolutions({ tools, tasks }: CheckInput, target: TargetProfile): CheckResult {
  const { solved } = target;
  const speaking = speakingTools(
    tools,
    [...solved, ...tasks].map(({ reference }) => reference),
  );
  const here = tasks.map((task) => ({ ...task, prompt: promptOf(task) }));
  const values = valueWords([...solved, ...here], speaking);
  const openings = solved.map(({ prompt }) => openingRuns(prompt, values));
  const forms = solved.map((task) => solutionForm(task, speaking));
  const surpriseOf = surpriseFinder(openings, forms);
  const compared = here.map((task): Compared => {
    const runs = openingRuns(task.prompt, values);
    const form = solutionForm(task, speaking);
    const neighbours = sameOpenings(runs, openings).map((place) => ({ place, form: forms[place]! }));
    return { ...task, form, surprise: surpriseOf(runs, form), neighbours };
  });
  const findings = bySeedRange(compared).flatMap(({ name, tasks: inRange }) => {
    const alike = inRange.filter(({ neighbours }) => neighbours.length >= FEWEST_NEIGHBOURS);
    return [otherTools(name, inRange), ...(alike.length < FEWEST_ALIKE ? [] : [missingForms(name, alike)])];
  });
  findings.push(strangeParts(tasks, target, speaking));
  const problems = findings.flatMap(({ problem }) => problem ?? []);
  return {
    passed: problems.length === 0,
    detail:
      [...new Set(problems)].slice(0, 3).join(' ') ||
      `Of ${tasks.length} tasks ${compared.filter(({ neighbours }) => neighbours.length >= FEWEST_NEIGHBOURS).length} ` +
        "ask as the agent's own do, and are solved alike.",
    figures: findings.flatMap(({ figure }) => (figure.value > 0 ? figure : [])).slice(0, 4),
  };
}

interface Finding {
  problem: string | null;
  figure: CheckResult['figures'][number];
}

/** A task, with the forms of solution of the agent's tasks that ask for the same. */
interface Compared extends EnvironmentTask {
  form: string;
  surprise: Surprise | null;
  neighbours: Neighbour[];
}

/** A task of the agent's that asks for the same: its place among those, and the form of its solution. */
interface Neighbour {
  place: number;
  form: string;
}

/** Tasks whose opening, by all that the agent's tasks show, needs a tool that the solution lacks, or the reverse. */
function otherTools(range: string, tasks: readonly Compared[]): Finding {
  const surprises = tasks.flatMap((task) => (task.surprise === null ? [] : [{ task, ...task.surprise }]));
  const share = surprises.length / tasks.length;
  const limit = CHECK_LIMITS.maxSolvedOtherwise;
  const example = surprises[0];
  return {
    problem:
      share > limit
        ? `${wholePercent(share)} of the tasks ${range} are solved otherwise than the agent's own with such openings: ` +
          `${JSON.stringify(promptOf(example!.task).slice(0, 120))} ${example!.expected ? 'without' : 'with'} ` +
          `${example!.step}, there ${example!.expected ? 'with' : 'without'} it.`
        : null,
    figure: { name: `tasks ${range} solved otherwise`, value: share, atMost: limit },
  };
}

const stepsOf = (form: string): string[] => (form === '' ? [] : form.split('; '));

/** A step that a solution has, or lacks, against all that the agent's tasks show. */
interface Surprise {
  step: string;
  expected: boolean;
}

/**
 * Finds steps that an opening calls for by all that the agent's tasks show, and that a solution lacks, or the reverse.
 * Null for a solution as it is expected, and for an opening with much that the agent's openings never have.
 */
function surpriseFinder(
  openings: readonly Set<string>[],
  forms: readonly string[],
): (runs: ReadonlySet<string>, form: string) => Surprise | null {
  const { rows, features } = numberOpenings(openings);
  const foretold = [...new Set(forms.flatMap(stepsOf))].flatMap((step) => {
    const has = forms.map((form) => stepsOf(form).includes(step));
    const verdict = trustedVerdict(rows, has, features.size);
    return verdict === null ? [] : [{ step, verdict }];
  });
  return (runs, form) => {
    const row = Int32Array.from([...runs].flatMap((run) => features.get(run) ?? []));
    if (row.length < FAMILIAR * runs.size) return null;
    const steps = stepsOf(form);
    for (const { step, verdict } of foretold) {
      const expected = verdict(row);
      if (expected !== null && expected !== steps.includes(step)) return { step, expected };
    }
    return null;
  };
}

const verdictOf = (chance: number): boolean | null => (chance >= SURE ? true : chance <= 1 - SURE ? false : null);

/**
 * The chance of a step where at least half of all tasks have it, given the chance where a share of them has it (a prior
 * that shifts, Saerens et al. 2002). An environment for a capability may ask for it that often.
 */
function amongPractice(chance: number, share: number): number {
  const shift = Math.max(1, (1 - share) / share);
  return (chance * shift) / (chance * shift + 1 - chance);
}

/** What the openings foretell about a step: that a solution has it, that it lacks it, or (null) neither. */
type Verdict = (row: Int32Array) => boolean | null;

/**
 * Foretells which tasks have something, where models of different parts of the agent's tasks agree: a few tasks that
 * happen to be alike foretell nothing. Null when a model errs on tasks that it was not fitted to.
 */
function trustedVerdict(rows: readonly Int32Array[], has: readonly boolean[], size: number): Verdict | null {
  const models: OpeningModel[] = [];
  let errors = 0;
  for (let fold = 0; fold < FOLDS; fold++) {
    const inside = rows.flatMap((_, place) => (place % FOLDS === fold ? [] : [place]));
    const model = fitOpeningModel(
      inside.map((place) => rows[place]!),
      inside.map((place) => has[place]!),
      size,
    );
    models.push(model);
    for (let place = fold; place < rows.length; place += FOLDS) {
      const said = verdictOf(model(rows[place]!));
      errors += Number(said !== null && said !== has[place]);
    }
  }
  if (errors > MOST_ERRORS * rows.length) return null;
  const share = has.filter(Boolean).length / has.length;
  return (row) => {
    const verdicts = new Set(
      models.map((model) => {
        const chance = model(row);
        // What was certain anyway is not made more certain.
        return verdictOf(chance) === true ? true : verdictOf(amongPractice(chance, share)) === false ? false : null;
      }),
    );
    return verdicts.size === 1 ? [...verdicts][0]! : null;
  };
}

/** Forms of solution that tasks of the agent's which ask for the same often have, and these never or hardly ever. */
function missingForms(range: string, alike: readonly Compared[]): Finding {
  const expected = new Map<string, number>();
  const places = new Map<string, Set<number>>();
  for (const { neighbours } of alike)
    for (const { place, form } of neighbours) {
      expected.set(form, (expected.get(form) ?? 0) + 1 / (neighbours.length * alike.length));
      places.set(form, (places.get(form) ?? new Set()).add(place));
    }
  const missing = [...expected]
    .filter(([form, share]) => share >= COMMON && places.get(form)!.size >= FEWEST_OF_A_FORM)
    .map(([form, share]) => ({ form, share, met: alike.filter((task) => task.form === form).length / alike.length }))
    .filter(({ share, met }) => met < Math.max(NEVER, MET * share));
  const worst = missing[0];
  return {
    problem: worst
      ? `The agent's tasks with the same openings are solved by ${worst.form || 'words alone'} in ` +
        `${wholePercent(worst.share)} of the cases, and ${wholePercent(worst.met)} of these tasks ${range}: what ` +
        'decides there is decided beforehand here.'
      : null,
    figure: { name: `forms of solution missing ${range}`, value: missing.length, atMost: 0 },
  };
}

/** Solutions none of whose parts with the capability has the tools of a part of a solution of the agent's. */
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
