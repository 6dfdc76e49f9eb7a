import type { RouterKind } from '../../../contracts/config/router-kinds';
import { drawFolds, FOLDS } from '../../../routing/fit/fit-needs';
import type { ArmChoice, FitData } from '../../../routing/kind';
import { fitRouter } from '../../../routing/kinds';
import type { RoutingTask } from '../../../routing/labelled-tasks';
import { openRouter } from '../../../routing/open-router';
import type { Decisions } from './compare-decisions';
import type { KnownOutcomes } from './known-outcomes';
import type { Setting } from './state';
import { withHeartbeats } from './with-heartbeats';

/** Decisions, each with its probability. */
export interface CrossFitted extends Decisions {
  choices: readonly ArmChoice[];
}

/** All data for fitting a router. */
export const fitDataOf = ({ labelled, capabilities, ridge }: Setting, outcomes: KnownOutcomes): FitData => ({
  ...labelled,
  capabilities,
  ridge,
  outcomes,
});

/** Reads every task with a model that was fitted without the task's fold. */
export async function readCrossFitted<Model, Reading>(
  { labelled: { tasks }, seed }: Pick<Setting, 'labelled' | 'seed'>,
  fit: (seen: RoutingTask[]) => Promise<Model>,
  read: (model: Model, task: RoutingTask) => Reading,
): Promise<Reading[]> {
  const folds = drawFolds(tasks.length, seed);
  const readings: Reading[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    const model = await fit(tasks.filter((_, place) => folds[place] !== fold));
    tasks.forEach((task, place) => {
      if (folds[place] === fold) readings[place] = read(model, task);
    });
  }
  return readings;
}

/** Decisions of a kind on all tasks, each made by a router that was fitted without the task. */
export const crossFit = (setting: Setting, kind: RouterKind, known: KnownOutcomes): Promise<CrossFitted> =>
  withHeartbeats(`fitting router ${kind}`, async () => {
    const data = fitDataOf(setting, known);
    const choices = await readCrossFitted(
      setting,
      async (seen) => openRouter(await fitRouter(kind, { ...data, tasks: seen })),
      (chooser, { opening, answer }) => chooser.choose(opening, answer),
    );
    return decisionsBy(kind, choices);
  });

/** The decisions that these choices make. */
export const decisionsBy = (kind: RouterKind, choices: readonly ArmChoice[]): CrossFitted => ({
  kind,
  choices,
  chosen: choices.map(({ capabilityId }) => capabilityId),
});
