/**
 * Whether the mixed adapter gets the openings that call for several capabilities. An adapter of one capability has
 * learned half of such a task; the mixed one has learned both halves, and does less well on what needs one or nothing
 * (docs/adr/0020).
 */
import type { RouterChoice, SeveralNeedsModel } from '../../../contracts/artifacts/router';
import { MIXED } from '../../../contracts/names';
import { openSeveralNeeds } from '../../../contracts/routing/several-needs';
import { CLEARLY, type Decisions, difference, LEAST_TASKS } from './competition';
import { drawFolds, fitLabels, FOLDS } from './fit-routers';
import type { KnownOutcomes } from './known-outcomes';
import type { LabelledTasks } from './routing-task';

/** An opening is read by the same measure as a router reads it: it calls for what is more likely than not. */
const LEAST_PROBABILITY = 0.5;

/** Learns which openings have several needs. */
export class SeveralNeedsFits {
  constructor(
    private readonly labelled: LabelledTasks,
    private readonly capabilityIds: readonly string[],
    private readonly ridge: number,
  ) {}

  /** From all tasks, or from those that a fold may see. */
  async fit(tasks = this.labelled.tasks): Promise<SeveralNeedsModel> {
    const { vocabulary, needs } = await fitLabels([...tasks, ...this.labelled.live], this.capabilityIds, this.ridge);
    return { vocabulary, needs, threshold: LEAST_PROBABILITY };
  }

  /**
   * The decisions of a router, with the mixed adapter where an opening has several needs, each read without having
   * learned from its task. Null: too few openings have.
   */
  async crossFit({ kind, chosen }: Decisions, seed: number): Promise<Decisions | null> {
    const { tasks } = this.labelled;
    if (tasks.filter(({ needs }) => needs.length > 1).length < LEAST_TASKS) return null;
    const folds = drawFolds(tasks.length, seed);
    const augmented = [...chosen];
    for (let fold = 0; fold < FOLDS; fold++) {
      const severalNeeds = await this.fit(tasks.filter((_, place) => folds[place] !== fold));
      const read = openSeveralNeeds({ kind: 'labels', leftOut: [], ...severalNeeds, severalNeeds })!;
      tasks.forEach(({ opening }, place) => {
        if (folds[place] === fold && read(opening)) augmented[place] = MIXED;
      });
    }
    return augmented.filter((arm) => arm === MIXED).length < LEAST_TASKS ? null : { kind, chosen: augmented };
  }
}

/** Adopted where the mixed adapter gains more than two standard errors. Null: too few tasks tell. */
export function judgeSeveralNeeds(
  rivals: { router: Decisions; augmented: Decisions },
  compared: readonly number[],
  seeds: readonly number[],
  known: KnownOutcomes,
): NonNullable<RouterChoice['severalNeeds']> | null {
  const { router, augmented } = rivals;
  const tasks = compared.filter((task) => router.chosen[task] !== augmented.chosen[task]);
  if (tasks.length < LEAST_TASKS) return null;
  const { estimate, standardError } = difference(augmented, router, tasks, seeds, known);
  return { tasks: tasks.length, gain: estimate, standardError, adopted: estimate > CLEARLY * standardError };
}
