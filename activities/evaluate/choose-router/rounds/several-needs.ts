/**
 * Whether the mixed adapter gets the openings that call for several capabilities. An adapter of one capability has
 * learned half of such a task. The mixed adapter has learned both halves, but does less well on tasks with one need or
 * none (docs/adr/0020).
 */
import type { RouterChoice } from '../../../../contracts/artifacts/router-choice';
import { MIXED } from '../../../../contracts/names';
import { fitNeeds } from '../../../../routing/fit/fit-needs';
import type { SeveralNeedsModel } from '../../../../routing/router-parts';
import { severalNeedsReader } from '../../../../routing/several-needs';
import { CLEARLY, type Decisions, difference, LEAST_TASKS } from '../compare-decisions';
import { readCrossFitted } from '../cross-fit';
import type { KnownOutcomes } from '../known-outcomes';
import { buy, type Round, type Setting, withSpending } from '../state';
import { withHeartbeats } from '../with-heartbeats';

/** An opening is read as a router reads it: it calls for each capability that is more likely than not. */
const LEAST_PROBABILITY = 0.5;

/** Learns which openings have several needs, from all tasks or from those that a fold may see. */
export async function fitSeveralNeeds(setting: Setting, tasks = setting.labelled.tasks): Promise<SeveralNeedsModel> {
  const models = await fitNeeds([...tasks, ...setting.labelled.live], setting.ids, setting.ridge);
  return { ...models, threshold: LEAST_PROBABILITY };
}

/** Compares the router with itself where the mixed adapter has the openings with several needs. */
export const severalNeedsRound: Round = async (setting, begun, budget) => {
  const router = begun.served.decisions;
  if (!setting.playsMixed || setting.pinned !== null || router.kind === 'base') return begun;
  const augmented = await withHeartbeats('reading openings with several needs', () => withMixed(setting, router));
  if (augmented === null) return begun;
  const { state, compared } = await buy(setting, begun, [router, augmented], budget);
  // On later tasks the outcome of a switch is not known.
  const several = judgeSeveralNeeds(router, augmented, compared.slice(0, state.followed), state.known);
  const decisions = several?.adopted ? augmented : router;
  return withSpending(
    setting,
    { ...state, served: { ...state.served, decisions, several } },
    'several-needs',
    decisions,
  );
};

/**
 * The decisions of a router, with the mixed adapter where an opening has several needs. Each opening is read by a model
 * that did not see its task. Null: too few openings have several needs.
 */
async function withMixed(setting: Setting, { kind, chosen }: Decisions): Promise<Decisions | null> {
  if (setting.labelled.tasks.filter(({ needs }) => needs.length > 1).length < LEAST_TASKS) return null;
  const several = await readCrossFitted(
    setting,
    async (seen) => severalNeedsReader(await fitSeveralNeeds(setting, seen)),
    (read, { opening }) => read(opening) !== null,
  );
  if (several.filter(Boolean).length < LEAST_TASKS) return null;
  return { kind, chosen: chosen.map((arm, task) => (several[task] ? MIXED : arm)) };
}

/** Adopted where the mixed adapter gains more than two standard errors. Null: too few tasks differ. */
function judgeSeveralNeeds(
  router: Decisions,
  augmented: Decisions,
  compared: readonly number[],
  known: KnownOutcomes,
): NonNullable<RouterChoice['severalNeeds']> | null {
  const tasks = compared.filter((task) => router.chosen[task] !== augmented.chosen[task]);
  if (tasks.length < LEAST_TASKS) return null;
  const { estimate, standardError } = difference(augmented, router, tasks, known);
  return { tasks: tasks.length, gain: estimate, standardError, adopted: estimate > CLEARLY * standardError };
}
