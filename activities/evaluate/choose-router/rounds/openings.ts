/**
 * The first two rounds compare routers by openings. Half of their budget is for all kinds, the other half for close
 * ones.
 */
import { adaptersThrough, withoutLosers } from '../adapter-set';
import { survivors } from '../compare-decisions';
import { buy, preferred, type Round, type State, withSpending } from '../state';

/** Compares all kinds: leaves harmful adapters out of each, and removes the kinds that are far behind. */
export const firstRound: Round = async (setting, begun, budget) => {
  const { state: bought, compared } = await buy(setting, begun, begun.whole, budget);
  const { whole, known } = bought;
  // A kind must not suffer from a harmful adapter: it is compared without it.
  const adapters = new Map(whole.map((kind) => [kind.kind, adaptersThrough(kind, setting.ids, compared, known)]));
  const pruned = whole.map((kind) => withoutLosers(kind, adapters.get(kind.kind)!));
  const judged: State = { ...bought, adapters, pruned, remaining: pruned, comparedFirst: compared };
  const state = withSpending(setting, judged, 'first-round', preferred(setting, judged, compared));
  return { ...state, remaining: survivors(pruned, compared, known) };
};

/** Compares the remaining kinds; the best of them is the served router so far. */
export const secondRound: Round = async (setting, begun, budget) => {
  const { state: bought, compared } = await buy(setting, begun, begun.remaining, budget);
  const state: State = { ...bought, comparedLast: compared };
  const router = preferred(setting, state, compared);
  return withSpending(setting, { ...state, served: { ...state.served, decisions: router } }, 'second-round', router);
};
