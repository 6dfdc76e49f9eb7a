/**
 * Whether the mixed adapter gets the openings that call for several capabilities. An adapter of one capability has
 * learned half of such a task; the mixed one has learned both halves, and does less well on what needs one or nothing
 * (docs/adr/0020).
 */
import type { RouterChoice } from '../../../../contracts/artifacts/router-choice';
import { MIXED } from '../../../../contracts/names';
import { drawFolds, fitNeeds, FOLDS } from '../../../../routing/fit/fit-needs';
import type { SeveralNeedsModel } from '../../../../routing/router-parts';
import { openSeveralNeeds } from '../../../../routing/several-needs';
import { CLEARLY, type Decisions, difference, LEAST_TASKS } from '../competition';
import type { KnownOutcomes } from '../known-outcomes';
import { buy, noted, playsMixed, type Round, type Setting } from '../round';
import { withHeartbeats } from '../with-heartbeats';

/** An opening is read as a router reads it: it calls for what is more likely than not. */
const LEAST_PROBABILITY = 0.5;

/** Learns which openings have several needs, from all tasks or from those that a fold may see. */
export async function fitSeveralNeeds(setting: Setting, tasks = setting.labelled.tasks): Promise<SeveralNeedsModel> {
  const models = await fitNeeds([...tasks, ...setting.labelled.live], setting.ids, setting.ridge);
  return { ...models, threshold: LEAST_PROBABILITY };
}

/** Compares the router with itself where the mixed adapter has the openings with several needs. */
export const severalNeedsRound: Round = async function* (setting, begun, budget) {
  const router = begun.served.decisions;
  if (!playsMixed(setting) || setting.pinned !== null || router.kind === 'base') return begun;
  const augmented = await withHeartbeats('reading openings with several needs', () => crossFit(setting, router));
  if (augmented === null) return begun;
  const { state, compared } = yield* buy(setting, begun, [router, augmented], budget);
  // On later tasks the outcome of a change of adapter is not known.
  const judged = compared.slice(0, state.followed);
  const several = judgeSeveralNeeds({ router, augmented }, judged, setting.seeds, state.known);
  const decisions = several?.adopted ? augmented : router;
  return noted(setting, { ...state, served: { ...state.served, decisions, several } }, 'several-needs', decisions);
};

/**
 * The decisions of a router, with the mixed adapter where an opening has several needs, each read without having
 * learned from its task. Null: too few openings have.
 */
async function crossFit(setting: Setting, { kind, chosen }: Decisions): Promise<Decisions | null> {
  const { tasks } = setting.labelled;
  if (tasks.filter(({ needs }) => needs.length > 1).length < LEAST_TASKS) return null;
  const folds = drawFolds(tasks.length, setting.seed);
  const augmented = [...chosen];
  for (let fold = 0; fold < FOLDS; fold++) {
    const severalNeeds = await fitSeveralNeeds(
      setting,
      tasks.filter((_, place) => folds[place] !== fold),
    );
    const { vocabulary, needs } = severalNeeds;
    const read = openSeveralNeeds({ kind: 'labels', leftOut: [], vocabulary, needs, severalNeeds })!;
    tasks.forEach(({ opening }, place) => {
      if (folds[place] === fold && read(opening)) augmented[place] = MIXED;
    });
  }
  return augmented.filter((arm) => arm === MIXED).length < LEAST_TASKS ? null : { kind, chosen: augmented };
}

/** Adopted where the mixed adapter gains more than two standard errors. Null: too few tasks differ. */
function judgeSeveralNeeds(
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
