/** The state that the rounds of a competition read and return. A round never changes a state: it returns a new one. */
import type { LaterMessages, RouterChoice, Spending } from '../../../contracts/artifacts/router-choice';
import type { RouterKind } from '../../../contracts/config/router-kinds';
import type { FitData } from '../../../routing/kind';
import type { LabelledTasks } from '../../../routing/labelled-tasks';
import type { LaterTurnsReader } from '../../../routing/later-turns';
import type { ToolNeedsModel } from '../../../routing/router-parts';
import { adaptersThrough } from './adapter-set';
import { armsToPlay, chooseKind, type Decisions } from './compare-decisions';
import type { CrossFitted } from './cross-fit';
import type { ArmOnTask, KnownOutcomes, Outcome } from './known-outcomes';
import { ARM_TRIALS } from './play-arms';
import { spendingAfter } from './spending';

/** One competition. */
export interface Setting {
  labelled: LabelledTasks;
  /** Indexes of the tasks in a random order. */
  order: readonly number[];
  capabilities: FitData['capabilities'];
  /** Ids of `capabilities`. Each has its own adapter. */
  ids: readonly string[];
  /** Whether the competition plays the mixed adapter. */
  playsMixed: boolean;
  ridge: number;
  /** The only kind that is compared with base; null: all compete. */
  pinned: RouterKind | null;
  /** `gate.lossMargin`. */
  lossMargin: number;
  /** Of the run. */
  seed: number;
  /**
   * Switches of adapter that later messages need. There is an entry for each way of reading them that makes enough
   * tasks switch.
   */
  switches: readonly CrossFittedSwitches[];
  /** Largest numbers of rollouts: of arms, and of conversations that switch. */
  budget: { arms: number; switches: number };
  /** The needs that tools show in the train tasks; null if too few show any. */
  toolNeeds: FollowedNeeds | null;
  play: Players;
}

/** Plays train tasks. */
export interface Players {
  /** Plays each arm on its task, `ARM_TRIALS` times. */
  arms(missing: readonly ArmOnTask[]): Promise<Outcome[]>;
  /** Passes (1) and failures (0) of each conversation, in their order; empty where all trials failed. */
  switches(reads: LaterMessages | 'tool-results', conversations: readonly Switching[]): Promise<(readonly number[])[]>;
}

/** The switches of adapter in the train tasks, each read by a model that was fitted without the task. */
export interface CrossFittedSwitches {
  reads: LaterMessages;
  /**
   * For each task: the reader of its later messages; the capability whose adapter base's conversation switches to, or
   * null if it stays; the first request of an opening with two needs, or null.
   */
  tasks: readonly { reader: LaterTurnsReader; to: string | null; first: string | null }[];
}

/** The needs that tools show in the train tasks, each read by a model that was fitted without the task. */
export interface FollowedNeeds {
  /** Of the regressions. */
  ridge: number;
  /** For each task. */
  models: readonly ToolNeedsModel[];
}

/** A train task that is played with its switches. */
export interface Switching {
  /** `switch`: it begins with the router's choice. `first`: it begins with the first request. */
  way: 'switch' | 'first';
  seed: number;
  opening: string;
  /** The other adapter. */
  to: string;
  reader: LaterTurnsReader;
}

/** A router with everything that would be served with it. */
export interface ServedRouter {
  decisions: Decisions;
  several: NonNullable<RouterChoice['severalNeeds']> | null;
  switches: NonNullable<RouterChoice['laterTurns']> | null;
}

/** The result of the last round. */
export interface FinalRound {
  mixed: CrossFitted;
  /** `outcomes-mixed` with all adapters, before harmful ones are left out. */
  whole: CrossFitted;
  /** The same as it would be served. */
  learned: Decisions;
  /** The figures of each adapter, and of the mixed one, under this router. */
  adapters: RouterChoice['adapters'];
  /** `first`: tasks on which all finalists were compared. `last`: tasks on which the remaining ones were compared. */
  first: readonly number[];
  last: readonly number[];
  remaining: readonly Decisions[];
  mixedOnBaseTasks: RouterChoice['mixedOnBaseTasks'] | null;
  winner: Decisions;
}

/** The results of a competition so far. Tasks are named by their indexes. */
export interface State {
  known: KnownOutcomes;
  /** Number of bought pairs of an arm and a task. */
  played: number;
  /** The kinds of the first round, with all adapters and without harmful ones. */
  whole: readonly CrossFitted[];
  pruned: readonly Decisions[];
  /** The kinds that are not far behind. */
  remaining: readonly Decisions[];
  /** The figures of each adapter under each kind of the first round. */
  adapters: ReadonlyMap<RouterKind, RouterChoice['adapters']>;
  /**
   * `comparedFirst`: tasks on which all kinds can be compared. `comparedLast`: tasks on which the remaining kinds can
   * be compared.
   */
  comparedFirst: readonly number[];
  comparedLast: readonly number[];
  /** Tasks on which `single` was compared with base and the best router, as served, so far; null if it was not. */
  single: { tasks: readonly number[]; rival: Decisions } | null;
  /** Tasks on which the adapters of the best router were compared with base. */
  comparedWithBase: readonly number[];
  /** Number of rollouts that were bought for adapters that may do harm. */
  boughtForHarm: number;
  served: ServedRouter;
  /** Number of tasks at the beginning of the order whose outcome as served, with switches, is known. */
  followed: number;
  /** Null without a mixed adapter. */
  final: FinalRound | null;
  /** Following what tools show, with the decisions that are served then; null if it was not compared. */
  tools: { comparison: NonNullable<RouterChoice['toolResults']>; decisions: Decisions } | null;
  spending: readonly Spending[];
}

/** A round. It may play rollouts until all rounds together have played `budget` of them. */
export type Round = (setting: Setting, state: State, budget: number) => Promise<State>;

/** The decisions of a compared kind with all its adapters. */
export const wholeOf = ({ whole, final }: Pick<State, 'whole' | 'final'>, kind: RouterKind): CrossFitted =>
  [...whole, ...(final ? [final.mixed, final.whole] : [])].find((decisions) => decisions.kind === kind)!;

/** Each adapter's figures under a kind. They use the tasks on which every adapter that gets the task was played. */
export function adaptersOf({ ids }: Pick<Setting, 'ids'>, state: State, kind: RouterKind): RouterChoice['adapters'] {
  const { adapters, final, comparedFirst, known } = state;
  if (kind === 'outcomes-mixed' && final !== null) return final.adapters;
  return adapters.get(kind) ?? adaptersThrough(wholeOf(state, kind), ids, comparedFirst, known);
}

/** Tasks on which two decisions of the last round were compared. */
export const comparedIn = (
  { remaining, first, last }: FinalRound,
  one: Decisions,
  other: Decisions,
): readonly number[] => (remaining.includes(one) && remaining.includes(other) ? last : first);

/**
 * Plays arms until the budget is spent, and returns the tasks of the order on which these decisions can be compared.
 */
export async function buy(
  { play, ...setting }: Setting,
  state: State,
  decisions: readonly Decisions[],
  budget: number,
  order = setting.order,
): Promise<{ state: State; compared: readonly number[] }> {
  const rest = Math.floor(budget / ARM_TRIALS) - state.played;
  const { missing, compared } = armsToPlay(decisions, order, state.known, rest);
  const known = state.known.with(await play.arms(missing));
  return { state: { ...state, known, played: state.played + missing.length }, compared: order.slice(0, compared) };
}

/** The pinned kind, or the best one. `labels` replaces a kind that learns from outcomes until that is fitted. */
export function preferred({ pinned }: Setting, state: State, tasks: readonly number[]): Decisions {
  const fitted = (wanted: RouterKind) => state.pruned.find(({ kind }) => kind === wanted);
  if (pinned !== null) return fitted(pinned) ?? fitted('labels')!;
  return chooseKind(state.remaining, tasks, state.known);
}

/** The state with a row of `spending`, if the step bought anything. A step that buys several times has one row. */
export function withSpending(
  { labelled: { tasks } }: Setting,
  state: State,
  step: Spending['step'],
  best: Decisions,
  compared = longestPrefix(state),
): State {
  const switches = (state.served.switches?.rollouts ?? 0) + (state.tools?.comparison.rollouts ?? 0);
  const rollouts = state.played * ARM_TRIALS + switches;
  if (rollouts === (state.spending.at(-1)?.rollouts ?? 0)) return state;
  return {
    ...state,
    spending: [...state.spending, spendingAfter({ step, rollouts }, best, compared, tasks, state.known)],
  };
}

/**
 * The longest prefix of the random order on which kinds were compared. It does not contain tasks that were bought for
 * single adapters.
 */
const longestPrefix = ({ comparedFirst, comparedLast }: State): readonly number[] =>
  comparedLast.length > comparedFirst.length ? comparedLast : comparedFirst;
