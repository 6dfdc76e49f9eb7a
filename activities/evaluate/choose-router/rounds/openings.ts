/** The first two rounds compare routers by openings. Half of their budget is for all kinds, half for close ones. */
import { adaptersThrough, withoutLosers } from '../adapter-set';
import { survivors } from '../competition';
import { buy, noted, preferred, type Round, type State } from '../round';

/** All kinds: adapters that lose are left out of each, then the kinds that are far behind leave. */
export const firstRound: Round = async function* (setting, begun, budget) {
  const { state: bought, compared } = yield* buy(setting, begun, begun.all, budget);
  const { seeds } = setting;
  const { known } = bought;
  // A kind is not to blame for an adapter that loses: it is compared without it.
  const adapters = new Map(
    bought.all.map((kind) => [kind.kind, adaptersThrough(kind, setting.ids, compared, seeds, known)]),
  );
  const pruned = bought.all.map((kind) => withoutLosers(kind, adapters.get(kind.kind)!));
  const judged: State = { ...bought, adapters, pruned, left: pruned, comparedFirst: compared };
  const state = noted(setting, judged, 'first-round', preferred(setting, judged, compared));
  return { ...state, left: survivors(pruned, compared, seeds, known) };
};

/** The kinds that are left: the best of them is served so far. */
export const secondRound: Round = async function* (setting, begun, budget) {
  const { state: bought, compared } = yield* buy(setting, begun, begun.left, budget);
  const state: State = { ...bought, comparedLast: compared };
  const router = preferred(setting, state, compared);
  return noted(setting, { ...state, served: { ...state.served, decisions: router } }, 'second-round', router);
};
