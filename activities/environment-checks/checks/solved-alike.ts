import { type CheckInput, type CheckResult, resultOf, wholePercent } from '../check';
import { bySeedRange, type EnvironmentTask, promptOf } from '../environment-task';
import { CHECK_LIMITS } from '../limits';
import { SAID, speakingTools } from '../moves';
import { fitOpeningModel, numberOpenings, type OpeningModel } from '../opening-model';
import { openingRuns, sameOpenings, solutionForm, solutionParts, valueWords } from '../solution-forms';
import type { TargetProfile } from '../target-profile';
import { startOf } from '../../../contracts/clean-text';

/** Solutions are compared if at least this many tasks have a request like one of the agent's tasks. */
const FEWEST_ALIKE = 10;
/** A task is compared if at least this many of the agent's tasks have the same request. */
const FEWEST_NEIGHBOURS = 2;
/** A form of solution counts if at least this many of the agent's tasks have it; fewer may be chance. */
const FEWEST_OF_A_FORM = 3;
/** If at least this share of the agent's tasks has a form of solution, this form must occur ... */
const COMMON = 0.2;
/** ... at least with this fraction of that frequency. */
const MET = 0.2;
/** The solution is predicted if the agent's openings contain at least this share of the opening's word runs. */
const FAMILIAR = 0.8;
/** A step of the solution is certain above this probability, and ruled out below one minus it. */
const SURE = 0.9;
/** Folds of the cross-validation over the agent's tasks, and the allowed error rate of a model there. */
const FOLDS = 3;
const MOST_ERRORS = 0.03;
/** A form of solution with a share below this counts as absent. */
const NEVER = 0.01;

/**
 * Makes three checks. Tasks worded like the agent's must have solutions like the agent's. Every ending of such tasks
 * must occur. Most solutions must reuse steps of the agent's own solutions. Values are not compared, and tasks without
 * a similar request of the agent are left out.
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
  const ranges = bySeedRange(compared);
  const findings = [
    ...ranges.map(({ name, tasks: inRange }) => otherTools(name, inRange)),
    strangeParts(tasks, target, speaking),
    ...ranges.flatMap(({ name, tasks: inRange }) => {
      const alike = inRange.filter(({ neighbours }) => neighbours.length >= FEWEST_NEIGHBOURS);
      return alike.length < FEWEST_ALIKE ? [] : missingForms(name, alike);
    }),
  ];
  const problems = findings.flatMap(({ problem }) => problem ?? []);
  return resultOf(
    [...new Set(problems)].slice(0, 3),
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
  surprise: Surprise | null;
  neighbours: Neighbour[];
}

/** A task of the agent with the same request: its index, and the form of its solution. */
interface Neighbour {
  place: number;
  form: string;
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
 * Adjusts a probability for a prior shift (Saerens et al. 2002): from tasks of which `share` have the step to tasks of
 * which at least half have it. An environment for a capability may require the step that often.
 */
function amongPractice(chance: number, share: number): number {
  const shift = Math.max(1, (1 - share) / share);
  return (chance * shift) / (chance * shift + 1 - chance);
}

/** The prediction for a step: the solution has it, lacks it, or (null) unknown. */
type Verdict = (row: Int32Array) => boolean | null;

/**
 * Predicts which tasks have a step. The models of all folds must agree, because a few tasks that are alike by chance
 * predict nothing. Null if the models make too many errors on the tasks that they were not fitted to.
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
        // The shift applies only to steps that were not certain before.
        return verdictOf(chance) === true ? true : verdictOf(amongPractice(chance, share)) === false ? false : null;
      }),
    );
    return verdicts.size === 1 ? [...verdicts][0]! : null;
  };
}

/** Each solution form that is frequent among the agent's tasks with the same openings, but (nearly) absent here. */
function missingForms(range: string, alike: readonly Compared[]): Finding[] {
  const expected = new Map<string, number>();
  const places = new Map<string, Set<number>>();
  for (const { neighbours } of alike)
    for (const { place, form } of neighbours) {
      expected.set(form, (expected.get(form) ?? 0) + 1 / (neighbours.length * alike.length));
      places.set(form, (places.get(form) ?? new Set()).add(place));
    }
  return [...expected]
    .filter(([form, share]) => share >= COMMON && places.get(form)!.size >= FEWEST_OF_A_FORM)
    .map(([form, share]) => ({ form, share, met: alike.filter((task) => task.form === form).length / alike.length }))
    .map((one) => ({ ...one, least: Math.max(NEVER, MET * one.share) }))
    .filter(({ met, least }) => met < least)
    .map(({ form, share, met, least }) => ({
      problem:
        `The agent's tasks with the same openings are solved by ${form || 'words alone'} in ${wholePercent(share)} of ` +
        `the cases. Here it solves ${wholePercent(met)} of the tasks ${range}, and at least ${wholePercent(least)} are ` +
        'wanted, so that the openings alone do not tell what to do.',
      figure: { name: `tasks ${range} solved by ${form || 'words alone'}`, value: met, atLeast: least },
    }));
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
