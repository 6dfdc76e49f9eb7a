/** Regressions of needs on the words of openings. */
import { randomSource } from '../../activities/statistics/random';
import type { LabelledOpening } from '../labelled-tasks';
import { linearProbability } from '../need-reader';
import { fitVocabulary, openingVectors, type SparseVector } from '../opening-features';
import type { LinearModel, NeedModels } from '../router-parts';
import { crossEntropy, fitLogistic, type Observation } from './logistic-regression';

/** Ridges to choose from; the best one for an agent's needs depends on the number of its openings. */
const RIDGES = [0.003, 0.01, 0.03, 0.1, 0.3, 1] as const;

/** Number of parts of the labelled openings; each fit leaves one part out. */
export const FOLDS = 5;

/** The random order in which tasks are compared. It is random, so that every prefix of it is a random sample. */
export function taskOrder(tasks: number, seed: number): number[] {
  const random = randomSource(seed);
  const order = Array.from({ length: tasks }, (_, i) => i);
  for (let i = tasks - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [order[i], order[j]] = [order[j] as number, order[i] as number];
  }
  return order;
}

/** The fold of each of `count` tasks. The folds are random, since an environment may alternate its kinds of tasks. */
export function drawFolds(count: number, seed: number): number[] {
  const folds: number[] = [];
  taskOrder(count, seed).forEach((task, place) => (folds[task] = place % FOLDS));
  return folds;
}

/** The ridge with the lowest cross-entropy on openings outside the fit. */
export async function chooseRidge(
  openings: readonly LabelledOpening[],
  capabilityIds: readonly string[],
  seed: number,
): Promise<number> {
  const vocabulary = fitVocabulary(openings.map(({ opening }) => opening));
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

/** A regression of each need on the words of these openings. */
export async function fitNeeds(
  openings: readonly LabelledOpening[],
  capabilityIds: readonly string[],
  ridge: number,
): Promise<NeedModels> {
  const vocabulary = fitVocabulary(openings.map(({ opening }) => opening));
  const rows = openings.map(observationOf(openingVectors(vocabulary)));
  const models: { capabilityId: string; model: LinearModel }[] = [];
  for (const capabilityId of capabilityIds) {
    const observations = rows.map((row) => row(capabilityId));
    models.push({ capabilityId, model: await fitLogistic(observations, vocabulary.terms.length, ridge) });
  }
  return { vocabulary, needs: models };
}
