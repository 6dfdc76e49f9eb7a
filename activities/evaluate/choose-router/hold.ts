/** The competition: its rounds in their order, and the one place that plays what they buy. */
import { type LaterMessages, LATER_MESSAGES } from '../../../contracts/artifacts/router-choice';
import { ROUTER_KINDS, type RouterKind } from '../../../contracts/config/router-kinds';
import { KINDS } from '../../../routing/kinds';
import type { RolloutDeps } from '../../rollout/rollout-deps';
import type { CrossFitted } from './decisions';
import { KnownOutcomes } from './known-outcomes';
import type { CrossFittedMoves } from './moves';
import { type ArmPlayers, playArms } from './play-arms';
import { playMoving } from './play-moves';
import { fitted, type Played, playsMixed, type Purchases, type Round, type Setting, type State } from './round';
import { finalRound } from './rounds/finalists';
import { harmRound } from './rounds/harm';
import { crossFitMoves, laterMessagesRound } from './rounds/later-messages';
import { firstRound, secondRound } from './rounds/openings';
import { severalNeedsRound } from './rounds/several-needs';
import { withHeartbeats } from './with-heartbeats';

/** Share of the budget for the routers by openings. Without a mixed adapter they have all of it. */
const ROUTERS = 0.4;

/**
 * The rounds, and the share of the budget that is spent by the end of each at most. What a round leaves is for the next
 * ones. Changes of adapter have a budget of their own.
 */
const ROUNDS: readonly { round: Round; spentBy: number }[] = [
  { round: firstRound, spentBy: ROUTERS / 2 },
  { round: secondRound, spentBy: ROUTERS },
  { round: harmRound, spentBy: ROUTERS },
  { round: laterMessagesRound, spentBy: ROUTERS },
  { round: severalNeedsRound, spentBy: 0.7 },
  { round: finalRound, spentBy: 1 },
];

/** Share of the budget for changes of adapter, where tasks have any. */
const MOVES = 0.2;

/** Plays purchases. */
export type Play = (purchases: Purchases) => Promise<Played>;

/** Plays purchases on the run's model server. */
export const playOn =
  (deps: RolloutDeps, players: ArmPlayers): Play =>
  async ({ arms, moves }) => ({
    outcomes: await playArms(deps, players, arms),
    moves: moves ? await playMoving(deps, players, moves.reads, moves.conversations) : new Map(),
  });

/** A competition with this budget of rollouts. Reads the later messages of all tasks. */
export async function settingOf(given: Omit<Setting, 'moves' | 'budget'>, budget: number): Promise<Setting> {
  const read = (reads: LaterMessages) => withHeartbeats('reading later messages', () => crossFitMoves(given, reads));
  const moves: CrossFittedMoves[] = [];
  for (const reads of LATER_MESSAGES) moves.push(...[await read(reads)].filter((one) => one !== null));
  const forMoves = budget * MOVES;
  return { ...given, moves, budget: { arms: moves.length > 0 ? budget - forMoves : budget, moves: forMoves } };
}

/** Plays all rounds. */
export async function holdCompetition(setting: Setting, play: Play): Promise<State> {
  let state = await begin(setting);
  for (const { round, spentBy } of ROUNDS) {
    const share = playsMixed(setting) ? spentBy : Math.min(1, spentBy / ROUTERS);
    const buying = round(setting, state, setting.budget.arms * share);
    let step = await buying.next();
    while (!step.done) step = await buying.next(await play(step.value));
    state = step.value;
  }
  return state;
}

/**
 * The kinds of the first round: those that need neither the mixed adapter nor the outcomes of other kinds. If a kind is
 * pinned, only base and that kind are compared. A pinned kind that learns from outcomes is replaced by `labels` here,
 * and later learns from the tasks on which base and `labels` differ.
 */
function firstKinds(pinned: RouterKind | null): RouterKind[] {
  if (pinned === null) return ROUTER_KINDS.filter((kind) => !KINDS[kind].needs.mixed && !KINDS[kind].needs.outcomes);
  const own = KINDS[pinned].needs.outcomes ? 'labels' : pinned;
  return ROUTER_KINDS.filter((kind) => kind === 'base' || kind === own);
}

async function begin(setting: Setting): Promise<State> {
  const known = new KnownOutcomes(setting.labelled.tasks);
  const all: CrossFitted[] = [];
  for (const kind of firstKinds(setting.pinned)) all.push(await fitted(setting, kind, known));
  return {
    ...{ known, played: 0, all, pruned: all, left: all, adapters: new Map() },
    ...{ comparedFirst: [], comparedLast: [], comparedWithBase: [], boughtForHarm: 0 },
    ...{ served: { decisions: all[0]!, several: null, laterTurns: null }, followed: Infinity },
    ...{ final: null, spending: [] },
  };
}
