import type { CompetitionRouter, LinearModel } from '../../../contracts/artifacts/router';
import type { CapabilityBrief } from '../../../contracts/messages/run-context';
import { NONE_LABEL } from '../../../contracts/names';
import { linearProbability } from '../../../contracts/routing/need-reader';
import {
  fitVocabulary,
  openingVectors,
  type SparseVector,
  type Vocabulary,
} from '../../../contracts/routing/opening-features';
import { routerMenu } from '../../../contracts/routing/router-prompt';
import { fitTemperature, fitThreshold } from './fit-calibration';
import { taskOrder } from './competition';
import { crossEntropy, fitLogistic, type Observation } from './logistic-regression';
import type { LabelledOpening, RoutingTask } from './routing-task';

/** Ridges to choose from; the best one for the needs of an agent depends on how many openings it has. */
const RIDGES = [0.003, 0.01, 0.03, 0.1, 0.3, 1] as const;

/** Share of labelled openings that a fit does not see, as one of FOLDS parts. */
export const FOLDS = 5;

/** The fold of each of `count` tasks. Drawn, since an environment may deal its kinds of tasks out in turn. */
export function drawFolds(count: number, seed: number): number[] {
  const folds: number[] = [];
  taskOrder(count, seed).forEach((task, place) => (folds[task] = place % FOLDS));
  return folds;
}

/** The ridge under which the needs of openings that a fit did not see are least surprising. */
export async function chooseRidge(
  openings: readonly LabelledOpening[],
  vocabulary: Vocabulary,
  capabilityIds: readonly string[],
  seed: number,
): Promise<number> {
  const folds = drawFolds(openings.length, seed);
  const rows = openings.map(observationOf(openingVectors(vocabulary)));
  let best: { ridge: number; loss: number } | null = null;
  for (const ridge of RIDGES) {
    let loss = 0;
    for (const id of capabilityIds)
      for (let fold = 0; fold < FOLDS; fold++) {
        const seen = rows.filter((_, place) => folds[place] !== fold).map((row) => row(id));
        const unseen = rows.filter((_, place) => folds[place] === fold).map((row) => row(id));
        if (unseen.length === 0) continue;
        const model = await fitLogistic(seen, vocabulary.terms.length, ridge);
        loss +=
          unseen.length *
          crossEntropy(
            unseen,
            unseen.map(({ features }) => linearProbability(model, features)),
          );
      }
    if (best === null || loss < best.loss) best = { ridge, loss };
  }
  return best?.ridge ?? RIDGES[0];
}

const observationOf =
  (vectorOf: (opening: string) => SparseVector) =>
  ({ opening, needs }: LabelledOpening) => {
    const features = vectorOf(opening);
    return (id: string): Observation => ({ features, share: needs.includes(id) ? 1 : 0, trials: 1 });
  };

/** A model of each need. */
async function fitNeeds(
  openings: readonly LabelledOpening[],
  vocabulary: Vocabulary,
  capabilityIds: readonly string[],
  ridge: number,
): Promise<{ capabilityId: string; model: LinearModel }[]> {
  const rows = openings.map(observationOf(openingVectors(vocabulary)));
  const models: { capabilityId: string; model: LinearModel }[] = [];
  for (const capabilityId of capabilityIds) {
    const observations = rows.map((row) => row(capabilityId));
    models.push({ capabilityId, model: await fitLogistic(observations, vocabulary.terms.length, ridge) });
  }
  return models;
}

/** The router `labels`, learned from these openings. */
export async function fitLabels(
  openings: readonly LabelledOpening[],
  capabilityIds: readonly string[],
  ridge: number,
): Promise<Extract<CompetitionRouter, { kind: 'labels' }>> {
  const vocabulary = fitVocabulary(openings.map(({ opening }) => opening));
  return {
    kind: 'labels',
    leftOut: [],
    vocabulary,
    needs: await fitNeeds(openings, vocabulary, capabilityIds, ridge),
  };
}

/**
 * The router `logits`, its temperature and threshold fitted on what the labels of these tasks call for. A task with
 * several needs counts for the one that the base model finds likeliest.
 */
export function fitLogits(tasks: readonly RoutingTask[], capabilities: readonly CapabilityBrief[]): CompetitionRouter {
  const menu = routerMenu(capabilities).map(({ capabilityId }) => capabilityId);
  const judged = tasks.flatMap(({ needs, answer }) => {
    if (answer === null) return [];
    const right = needs.length === 0 ? [NONE_LABEL] : needs;
    const places = right.map((id) => menu.indexOf(id)).filter((place) => place >= 0);
    const probability = (place: number) => answer.probabilities[place] ?? 0;
    const likeliest = places.reduce((a, b) => (probability(b) > probability(a) ? b : a), places[0] ?? menu.length - 1);
    return [{ answer, right: likeliest, needs: right }];
  });
  const temperature =
    judged.length === 0
      ? 1
      : fitTemperature(judged.map(({ answer, right }) => ({ probabilities: answer.probabilities, right })));
  const choices = judged
    .filter(({ answer }) => answer.capabilityId !== NONE_LABEL)
    .map(({ answer, needs }) => ({
      probabilities: answer.probabilities,
      base: needs.includes(NONE_LABEL) ? 1 : 0,
      chosen: needs.includes(answer.capabilityId) ? 1 : 0,
    }));
  return {
    kind: 'logits',
    leftOut: [],
    capabilities: capabilities.map(({ id, summary }) => ({ id, summary })),
    temperature,
    threshold: fitThreshold(choices, temperature),
  };
}
