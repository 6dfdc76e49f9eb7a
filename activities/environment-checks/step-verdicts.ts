import type { OpeningModel } from './opening-model';

/** Folds of the cross-validation over the agent's tasks. */
const FOLDS = 3;
/**
 * A model may err at most in this share of the tasks that are the minority. Otherwise it says little more than that
 * most tasks are alike, and that is no reason why a task of another mix should be.
 */
const MOST_ERRORS_OF_MINORITY = 1 / 3;

/** The prediction for a step: the solution has it, lacks it, or (null) unknown. */
export type Verdict = (row: Int32Array) => boolean | null;

/**
 * Adjusts a probability for a prior shift (Saerens et al. 2002): from tasks of which `share` have the step to tasks of
 * which at least half have it. An environment for a capability may require the step that often.
 */
export function amongPractice(chance: number, share: number): number {
  const shift = Math.max(1, (1 - share) / share);
  return (chance * shift) / (chance * shift + 1 - chance);
}

/** A model of a step that makes few enough errors. */
interface TrustedModel {
  verdict: Verdict;
  /** For each row that it was fitted to, what a model that was fitted to other rows says. */
  said: (boolean | null)[];
}

/** How a step is foretold. */
export interface Foretelling {
  fit: (rows: readonly Int32Array[], has: readonly boolean[], size: number) => OpeningModel;
  /** A step is certain above this probability, and ruled out below one minus it. */
  sure: number;
  /** Allowed error rate of a model on the tasks that it was not fitted to. */
  mostErrors: number;
  /** Changes a probability before a step is ruled out, given the share of tasks that have the step. */
  adjust?: (chance: number, share: number) => number;
}

/** The models of all folds, what they say of the tasks that they were not fitted to, and the number of errors there. */
function crossValidated(
  rows: readonly Int32Array[],
  has: readonly boolean[],
  size: number,
  { fit, sure }: Pick<Foretelling, 'fit' | 'sure'>,
): { models: OpeningModel[]; said: (boolean | null)[]; errors: number } {
  const models: OpeningModel[] = [];
  const said = new Array<boolean | null>(rows.length).fill(null);
  for (let fold = 0; fold < FOLDS; fold++) {
    const inside = rows.flatMap((_, place) => (place % FOLDS === fold ? [] : [place]));
    const model = fit(
      inside.map((place) => rows[place]!),
      inside.map((place) => has[place]!),
      size,
    );
    models.push(model);
    for (let place = fold; place < rows.length; place += FOLDS) said[place] = verdictOf(model(rows[place]!), sure);
  }
  return { models, said, errors: said.filter((one, place) => one !== null && one !== has[place]).length };
}

const verdictOf = (chance: number, sure: number): boolean | null =>
  chance >= sure ? true : chance <= 1 - sure ? false : null;

/** Number of tasks of which a model, fitted to other tasks, says wrongly whether they have a step. */
export function foretellingErrors(
  rows: readonly Int32Array[],
  has: readonly boolean[],
  size: number,
  fit: Foretelling['fit'],
): number {
  return crossValidated(rows, has, size, { fit, sure: 0.5 }).errors;
}

/**
 * Predicts which tasks have a step. The models of all folds must agree, because a few tasks that are alike by chance
 * predict nothing. Null if the models make too many errors on the tasks that they were not fitted to.
 * @param rows numbers of each task's features.
 * @param size number of features.
 */
export function trustedVerdict(
  rows: readonly Int32Array[],
  has: readonly boolean[],
  size: number,
  { fit, sure, mostErrors, adjust = (chance) => chance }: Foretelling,
): TrustedModel | null {
  const share = has.filter(Boolean).length / has.length;
  const minority = Math.min(share, 1 - share) * has.length;
  const most = Math.min(mostErrors * rows.length, minority > 0 ? MOST_ERRORS_OF_MINORITY * minority : Infinity);
  const { models, said, errors } = crossValidated(rows, has, size, { fit, sure });
  if (errors > most) return null;
  const verdict: Verdict = (row) => {
    const verdicts = new Set(
      models.map((model) => {
        const chance = model(row);
        // The adjustment applies only to steps that were not certain before.
        if (verdictOf(chance, sure) === true) return true;
        return verdictOf(adjust(chance, share), sure) === false ? false : null;
      }),
    );
    return verdicts.size === 1 ? [...verdicts][0]! : null;
  };
  return { verdict, said };
}
