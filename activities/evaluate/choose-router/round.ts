/** The state of a competition, and the form of its rounds. Neither changes in place: a round makes a new state. */
import type { RouterChoice, Spending } from '../../../contracts/artifacts/router-choice';
import type { RouterKind } from '../../../contracts/config/router-kinds';
import type { FitData } from '../../../routing/kind';
import type { LabelledTasks } from '../../../routing/labelled-tasks';
import { armsToPlay, chooseKind, type Decisions, type MissingArm } from './competition';
import { crossFit, type CrossFitted } from './decisions';
import type { FinalRound } from './final-round';
import type { KnownOutcomes, Outcome } from './known-outcomes';
import { ARM_TRIALS } from './play-arms';
import type { CrossFittedMoves, Moving } from './moves';
import { spendingAfter } from './spending';
import { withHeartbeats } from './with-heartbeats';

/** One competition. */
export interface Setting {
  labelled: LabelledTasks;
  /** Seeds of the tasks, and their numbers in a drawn order. */
  seeds: readonly number[];
  order: readonly number[];
  capabilities: FitData['capabilities'];
  /** Capabilities with an adapter of their own. */
  ids: readonly string[];
  hasMixed: boolean;
  ridge: number;
  /** The only kind that is compared with base; null: all compete. */
  pinned: RouterKind | null;
  /** `gate.lossMargin`. */
  lossMargin: number;
  /** Of the run. */
  seed: number;
  /** Train tasks whose later messages call for another adapter, for each way of reading them. */
  moves: readonly CrossFittedMoves[];
  /** Most rollouts for arms, and for conversations that change their adapter. */
  budget: { arms: number; moves: number };
}

/** A router with all that would be served with it. */
export interface ServedRouter {
  decisions: Decisions;
  several: NonNullable<RouterChoice['severalNeeds']> | null;
  laterTurns: NonNullable<RouterChoice['laterTurns']> | null;
}

/** All that a competition has found so far. */
export interface State {
  known: KnownOutcomes;
  /** Arms on tasks that were bought. */
  played: number;
  /** The kinds of the first round, whole and without the adapters that lose. */
  all: readonly CrossFitted[];
  pruned: readonly Decisions[];
  /** The kinds that are not far behind. */
  left: readonly Decisions[];
  /** Each adapter through each kind that was compared. */
  adapters: ReadonlyMap<RouterKind, RouterChoice['adapters']>;
  /** Tasks on which all kinds can be compared, and those on which the kinds that are left can. */
  comparedFirst: readonly number[];
  comparedLast: readonly number[];
  /** Tasks on which the adapters of the best router were compared with base. */
  comparedWithBase: readonly number[];
  boughtForHarm: number;
  served: ServedRouter;
  /** Number of tasks at the head of the order whose outcome as served, with changes of adapter, is known. */
  followed: number;
  /** Null without a mixed adapter. */
  final: FinalRound | null;
  spending: readonly Spending[];
}

/** Rollouts that a round wants: of arms on tasks, and of conversations that change their adapter. */
export interface Purchases {
  arms: readonly MissingArm[];
  moves?: { reads: CrossFittedMoves['reads']; conversations: readonly Moving[] };
}

/** The outcomes of purchases. */
export interface Played {
  outcomes: readonly Outcome[];
  /** Passes (1) and failures (0) of each conversation that changed its adapter. */
  moves: ReadonlyMap<string, readonly number[]>;
}

/** Yields purchases, gets their outcomes, and returns the next value. It has no other effect. */
export type Buying<Result> = AsyncGenerator<Purchases, Result, Played>;

/** A round: a function of the state and of the rollouts that may be bought until its end. */
export type Round = (setting: Setting, state: State, budget: number) => Buying<State>;

/** Whether something that uses the mixed adapter is compared. */
export const playsMixed = ({ hasMixed, pinned }: Pick<Setting, 'hasMixed' | 'pinned'>): boolean =>
  hasMixed && (pinned === null || pinned === 'outcomes-mixed');

/** All that a router is fitted on. */
export const fitDataOf = ({ labelled, capabilities, ridge }: Setting, outcomes: KnownOutcomes): FitData => ({
  ...labelled,
  ...{ capabilities, ridge, outcomes },
});

/** Decisions of a kind on all tasks, each without having seen its task. */
export const fitted = (setting: Setting, kind: RouterKind, known: KnownOutcomes): Promise<CrossFitted> =>
  withHeartbeats(`fitting router ${kind}`, () => crossFit(kind, fitDataOf(setting, known), setting.seed));

/** The whole decisions of a kind that was compared. */
export const wholeOf = ({ all, final }: Pick<State, 'all' | 'final'>, kind: RouterKind): CrossFitted =>
  [...all, ...(final ? [final.mixed, final.whole] : [])].find((decisions) => decisions.kind === kind)!;

/** Buys arms until the budget, and finds the tasks of the order on which these decisions can be compared. */
export async function* buy<Known extends Pick<State, 'known' | 'played'>>(
  { seeds, ...setting }: Pick<Setting, 'seeds' | 'order'>,
  state: Known,
  decisions: readonly Decisions[],
  budget: number,
  order = setting.order,
): Buying<{ state: Known; compared: readonly number[] }> {
  const rest = Math.floor(budget / ARM_TRIALS) - state.played;
  const { missing, compared } = armsToPlay(decisions, order, seeds, state.known, rest);
  const { outcomes } = yield { arms: missing };
  const known = state.known.with(outcomes);
  return { state: { ...state, known, played: state.played + missing.length }, compared: order.slice(0, compared) };
}

/** The kind that is pinned, or the best. `outcomes-mixed` is fitted last, so `labels` takes its place until then. */
export function preferred({ pinned, seeds }: Setting, state: State, tasks: readonly number[]): Decisions {
  const wanted = pinned === 'outcomes-mixed' ? 'labels' : pinned;
  if (wanted !== null) return state.pruned.find(({ kind }) => kind === wanted)!;
  return chooseKind(state.left, tasks, seeds, state.known);
}

/** The state with a row of `spending`, if the step bought anything. A step that buys more than once has one row. */
export function noted(
  { labelled: { tasks } }: Pick<Setting, 'labelled'>,
  state: State,
  step: Spending['step'],
  best: Decisions,
  compared = longer(state),
): State {
  const rollouts = state.played * ARM_TRIALS + (state.served.laterTurns?.rollouts ?? 0);
  if (rollouts === (state.spending.at(-1)?.rollouts ?? 0)) return state;
  return {
    ...state,
    spending: [...state.spending, spendingAfter({ step, rollouts }, best, compared, tasks, state.known)],
  };
}

/** The longer part of the drawn order on which kinds were compared. Purchases for single adapters are not in it. */
const longer = ({ comparedFirst, comparedLast }: State): readonly number[] =>
  comparedLast.length > comparedFirst.length ? comparedLast : comparedFirst;
