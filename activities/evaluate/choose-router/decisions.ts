import type { CompetitionRouter } from '../../../contracts/artifacts/router';
import type { CapabilityBrief } from '../../../contracts/messages/run-context';
import { type ArmChoice, openRouter } from '../../../contracts/routing/choose-arm';
import { fitVocabulary } from '../../../contracts/routing/opening-features';
import { MIXED } from '../../../contracts/names';
import type { Decisions } from './competition';
import { chooseRidge, fitLabels, fitLogits, FOLDS, drawFolds } from './fit-routers';
import { fitOutcomes } from './fit-outcomes';
import type { KnownOutcomes } from './known-outcomes';
import type { LabelledTasks } from './routing-task';

/** Makes a router from the tasks that it may see. */
export type Fit = (seen: LabelledTasks) => Promise<CompetitionRouter>;

/** Decisions, each with its probability. */
export interface CrossFitted extends Decisions {
  choices: readonly ArmChoice[];
}

/** Decisions on all tasks, each by a router that was fitted without the task's fold. */
export async function crossFit(
  kind: Decisions['kind'],
  fit: Fit,
  labelled: LabelledTasks,
  seed: number,
): Promise<CrossFitted> {
  const { tasks } = labelled;
  const folds = drawFolds(tasks.length, seed);
  const choices: ArmChoice[] = [];
  for (let fold = 0; fold < FOLDS; fold++) {
    const seen = tasks.filter((_, place) => folds[place] !== fold);
    const chooser = openRouter(await fit({ ...labelled, tasks: seen }));
    tasks.forEach((task, place) => {
      if (folds[place] === fold) choices[place] = chooser.choose(task.opening, task.answer);
    });
  }
  return { kind, choices, chosen: choices.map(({ capabilityId }) => capabilityId) };
}

/** Fits each kind of router for one agent. */
export class RouterFits {
  private constructor(
    private readonly capabilities: readonly CapabilityBrief[],
    /** Of every regression. */
    readonly ridge: number,
  ) {}

  /** Chooses the ridge that all fits share. */
  static async prepare(
    labelled: LabelledTasks,
    capabilities: readonly CapabilityBrief[],
    seed: number,
  ): Promise<RouterFits> {
    const openings = [...labelled.tasks, ...labelled.live];
    const vocabulary = fitVocabulary(openings.map(({ opening }) => opening));
    const ids = capabilities.map(({ id }) => id);
    return new RouterFits(capabilities, await chooseRidge(openings, vocabulary, ids, seed));
  }

  private get ids(): string[] {
    return this.capabilities.map(({ id }) => id);
  }

  readonly base: Fit = () => Promise.resolve({ kind: 'base', leftOut: [] });
  readonly mixed: Fit = () => Promise.resolve({ kind: 'mixed', leftOut: [] });
  readonly labels: Fit = ({ tasks, live }) => fitLabels([...tasks, ...live], this.ids, this.ridge);
  /** From the outcomes that are known when it is fitted. */
  readonly outcomesMixed =
    (known: KnownOutcomes): Fit =>
    ({ tasks }) =>
      fitOutcomes({ tasks, arms: [...this.ids, MIXED], known }, { ridge: this.ridge });
  readonly logits: Fit = ({ tasks }) => Promise.resolve(fitLogits(tasks, this.capabilities));
}
