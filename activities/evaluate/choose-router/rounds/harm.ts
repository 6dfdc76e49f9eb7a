import { adaptersThrough, contestedTasks, withoutLosers } from '../adapter-set';
import type { Decisions } from '../compare-decisions';
import { ARM_TRIALS } from '../play-arms';
import { buy, type Round, type State, wholeOf, withSpending } from '../state';

/** Number of times that tasks are bought for adapters that may do harm; each time their number doubles. */
const TIMES = 3;

/** Spends the routers' remaining budget on adapters whose harm may still exceed the margin, and judges them again. */
export const harmRound: Round = async (setting, begun, budget) => {
  const { kind } = begun.served.decisions;
  const [whole, base] = [wholeOf(begun, kind), wholeOf(begun, 'base')];
  let state: State = { ...begun, comparedWithBase: begun.comparedFirst };
  let adapters = begun.adapters.get(kind)!;
  for (let time = 0; time < TIMES; time++) {
    const wanted = contestedTasks(whole, adapters, setting.order, state.comparedWithBase, setting.lossMargin);
    const bought = await buy(setting, state, [whole, base], budget, wanted);
    state = { ...bought.state, comparedWithBase: [...state.comparedWithBase, ...bought.compared] };
    if (bought.compared.length === 0) break;
    adapters = adaptersThrough(whole, setting.ids, state.comparedWithBase, state.known);
  }
  const router = withoutLosers(whole, adapters);
  const replaced = (all: readonly Decisions[]) => all.map((other) => (other.kind === kind ? router : other));
  state = {
    ...state,
    adapters: new Map([...state.adapters, [kind, adapters]]),
    boughtForHarm: (state.played - begun.played) * ARM_TRIALS,
    pruned: replaced(state.pruned),
    remaining: replaced(state.remaining),
    served: { ...state.served, decisions: router },
  };
  return withSpending(setting, state, 'harm', router);
};
