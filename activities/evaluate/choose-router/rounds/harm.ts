import { adaptersThrough, contestedTasks, withoutLosers } from '../adapter-set';
import type { Decisions } from '../competition';
import { ARM_TRIALS } from '../play-arms';
import { buy, noted, type Round, type State, wholeOf } from '../round';

/** How often tasks are bought for adapters that may do harm, each time as many as they had. */
const TIMES = 3;

/** Spends the routers' remaining budget on adapters whose harm may still exceed the margin, and judges them again. */
export const harmRound: Round = async function* (setting, begun, budget) {
  const { order, seeds, lossMargin } = setting;
  const { kind } = begun.served.decisions;
  const [whole, base] = [wholeOf(begun, kind), wholeOf(begun, 'base')];
  let state: State = { ...begun, comparedWithBase: begun.comparedFirst };
  for (let time = 0; time < TIMES; time++) {
    const wanted = contestedTasks(whole, state.adapters.get(kind)!, order, state.comparedWithBase, lossMargin);
    const bought = yield* buy(setting, state, [whole, base], budget, wanted);
    state = bought.state;
    if (bought.compared.length === 0) break;
    const comparedWithBase = [...state.comparedWithBase, ...bought.compared];
    const adapters = adaptersThrough(whole, setting.ids, comparedWithBase, seeds, state.known);
    state = { ...state, comparedWithBase, adapters: new Map([...state.adapters, [kind, adapters]]) };
  }
  const router = withoutLosers(whole, state.adapters.get(kind)!);
  const replaced = (all: readonly Decisions[]) => all.map((other) => (other.kind === kind ? router : other));
  return noted(
    setting,
    {
      ...state,
      boughtForHarm: (state.played - begun.played) * ARM_TRIALS,
      pruned: replaced(state.pruned),
      left: replaced(state.left),
      served: { ...state.served, decisions: router },
    },
    'harm',
    router,
  );
};
