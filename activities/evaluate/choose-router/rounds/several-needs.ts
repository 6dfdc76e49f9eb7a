/**
 * Decides whether the mixed adapter gets the openings that need several capabilities. The adapter of one capability has
 * learned only a part of such a task. The mixed adapter has learned all parts, but is worse on tasks with one need or
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

/** The opening's needs are read as by a router: each capability with a probability above one half. */
const LEAST_PROBABILITY = 0.5;

/** Learns which openings have several needs, from all tasks or from those outside a fold. */
export async function fitSeveralNeeds(setting: Setting, tasks = setting.labelled.tasks): Promise<SeveralNeedsModel> {
  const models = await fitNeeds([...tasks, ...setting.labelled.live], setting.ids, setting.ridge);
  return { ...models, threshold: LEAST_PROBABILITY };
}

/** Compares the router with a variant that gives openings with several needs to the mixed adapter. */
export const severalNeedsRound: Round = async (setting, begun, budget) => {
  const router = begun.served.decisions;
  if (!setting.playsMixed || setting.pinned !== null || router.kind === 'base') return begun;
  const augmented = await withHeartbeats('reading openings with several needs', () => withMixed(setting, router));
  if (augmented === null) return begun;
  const { state, compared } = await buy(setting, begun, [router, augmented], budget);
  // On later tasks the outcome of a switch is unknown.
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
 * The decisions of a router that gives openings with several needs to the mixed adapter. Each opening is read by a
 * model that was fitted without its task. Null if too few openings have several needs.
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

/** Adopts the variant if the mixed adapter gains more than two standard errors. Null if too few tasks differ. */
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
