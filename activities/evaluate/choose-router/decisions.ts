import type { RouterKind } from '../../../contracts/config/router-kinds';
import { drawFolds, FOLDS } from '../../../routing/fit/fit-needs';
import type { ArmChoice, FitData } from '../../../routing/kind';
import { fitRouter } from '../../../routing/kinds';
import { openRouter } from '../../../routing/open-router';
import type { Decisions } from './competition';

/** Decisions, each with its probability. */
export interface CrossFitted extends Decisions {
  choices: readonly ArmChoice[];
}

/** Decisions of a kind on all tasks, each by a router that was fitted without the task's fold. */
export async function crossFit(kind: RouterKind, data: FitData, seed: number): Promise<CrossFitted> {
  const { tasks } = data;
  const folds = drawFolds(tasks.length, seed);
  const choices: ArmChoice[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    const seen = tasks.filter((_, place) => folds[place] !== fold);
    const chooser = openRouter(await fitRouter(kind, { ...data, tasks: seen }));
    tasks.forEach((task, place) => {
      if (folds[place] === fold) choices[place] = chooser.choose(task.opening, task.answer);
    });
  }
  return { kind, choices, chosen: choices.map(({ capabilityId }) => capabilityId) };
}
