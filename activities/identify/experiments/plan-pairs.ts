import type { EnvironmentMove } from '../../../contracts/messages/environment-protocol';
import type { Experiment, ExperimentQuestion } from '../../../contracts/artifacts/experiment';
import type { Intervention } from '../../rollout/intervention';

/** Fewest tasks of an experiment. */
const FEWEST_TASKS = 10;

/** An experiment that can be played. */
export interface PlannedExperiment extends Pick<Experiment, 'step' | 'tools' | 'held'> {
  capabilityId: string;
  /** Tasks in the order of their use. */
  tasks: number[];
}

/**
 * Plans the experiment of a question, or says why there is none. The step is forced where tasks that lack it have a
 * solution with it; else it is forbidden where tasks show it.
 * @param solutions accepted solutions, by task.
 */
export function planExperiment(
  { capabilityId, tools, held, lacking, shown }: ExperimentQuestion,
  solutions: ReadonlyMap<number, readonly EnvironmentMove[]>,
): PlannedExperiment | { none: string } {
  const withStep = lacking.filter((task) =>
    solutions.get(task)?.some((move) => !('text' in move) && tools.includes(move.name)),
  );
  const planned = { capabilityId, tools, held };
  if (withStep.length >= FEWEST_TASKS) return { ...planned, step: 'forced', tasks: withStep };
  if (shown.length >= FEWEST_TASKS) return { ...planned, step: 'forbidden', tasks: shown };
  return {
    none:
      `${withStep.length} of the tasks that lack it have an accepted solution that calls ${tools.join(', ')}, and ` +
      `${shown.length} tasks show it; an experiment needs ${FEWEST_TASKS}`,
  };
}

/** What is changed on each side of an experiment, in every task. */
export interface Sides {
  withStep: Pick<Intervention, 'forced' | 'forbidden'>;
  without: Pick<Intervention, 'forced' | 'forbidden'>;
}

/**
 * The two sides of an experiment. The steps of the other candidates are put in on both: else a step whose company
 * decides could seem to decide, and one that decides could seem not to, because the rest fails anyway.
 */
export function sidesOf({ step, tools, held }: Pick<PlannedExperiment, 'step' | 'tools' | 'held'>): Sides {
  return step === 'forced'
    ? { withStep: { forced: [...held, ...tools].sort(), forbidden: [] }, without: { forced: held, forbidden: [] } }
    : { withStep: { forced: held, forbidden: [] }, without: { forced: held, forbidden: tools } };
}
