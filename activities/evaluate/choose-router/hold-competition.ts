/** The competition: its rounds in their order. */
import { LATER_MESSAGES } from '../../../contracts/artifacts/router-choice';
import { ROUTER_KINDS, type RouterKind } from '../../../contracts/config/router-kinds';
import { KINDS } from '../../../routing/kinds';
import { crossFit, type CrossFitted } from './cross-fit';
import { KnownOutcomes } from './known-outcomes';
import { finalRound } from './rounds/finalists';
import { harmRound } from './rounds/harm';
import { crossFitSwitches, laterMessagesRound } from './rounds/later-messages';
import { firstRound, secondRound } from './rounds/openings';
import { singleRound } from './rounds/single';
import { severalNeedsRound } from './rounds/several-needs';
import { crossFitToolNeeds, toolResultsRound } from './rounds/tool-results';
import type { CrossFittedSwitches, Round, Setting, State } from './state';
import { withHeartbeats } from './with-heartbeats';

/** Share of the budget for the routers by openings. Without a mixed adapter they get the whole budget. */
const ROUTERS = 0.4;

/**
 * The rounds, each with the largest share of the budget that may be spent by its end. Later rounds may spend an earlier
 * round's remainder. Switches of adapter have a separate budget.
 */
const ROUNDS: readonly { round: Round; spentBy: number }[] = [
  { round: firstRound, spentBy: ROUTERS / 2 },
  { round: secondRound, spentBy: ROUTERS },
  { round: harmRound, spentBy: ROUTERS },
  { round: laterMessagesRound, spentBy: ROUTERS },
  { round: severalNeedsRound, spentBy: 0.7 },
  { round: singleRound, spentBy: 0.7 },
  { round: finalRound, spentBy: 1 },
  { round: toolResultsRound, spentBy: 1 },
];

/** Share of the budget for switches of adapter, if tasks have any. */
const SWITCHES = 0.2;

/** Prepares a competition with this budget of rollouts. It reads the later messages of all tasks. */
export async function settingOf(
  given: Omit<Setting, 'switches' | 'budget' | 'toolNeeds'>,
  budget: number,
): Promise<Setting> {
  const switches: CrossFittedSwitches[] = [];
  for (const reads of LATER_MESSAGES) {
    const found = await withHeartbeats('reading later messages', () => crossFitSwitches(given, reads));
    if (found !== null) switches.push(found);
  }
  const forSwitches = budget * SWITCHES;
  const toolNeeds = await withHeartbeats('reading the results of tools', () => crossFitToolNeeds(given));
  const forArms = switches.length > 0 || toolNeeds !== null ? budget - forSwitches : budget;
  return { ...given, switches, toolNeeds, budget: { arms: forArms, switches: forSwitches } };
}

/** Plays all rounds. */
export async function holdCompetition(setting: Setting): Promise<State> {
  let state = await begin(setting);
  for (const { round, spentBy } of ROUNDS) {
    const share = setting.playsMixed ? spentBy : Math.min(1, spentBy / ROUTERS);
    state = await round(setting, state, setting.budget.arms * share);
  }
  return state;
}

/**
 * The kinds of the first round: they need neither the mixed adapter nor the outcomes of other kinds. If a kind is
 * pinned, only base and that kind are compared. A pinned kind that learns from outcomes is replaced by `labels` here.
 * Later it learns from the tasks on which base and `labels` differ.
 */
function firstKinds(pinned: RouterKind | null): RouterKind[] {
  if (pinned === null) return ROUTER_KINDS.filter((kind) => !KINDS[kind].needs.mixed && !KINDS[kind].needs.outcomes);
  const own = KINDS[pinned].needs.outcomes ? 'labels' : pinned;
  return ROUTER_KINDS.filter((kind) => kind === 'base' || kind === own);
}

async function begin(setting: Setting): Promise<State> {
  const known = new KnownOutcomes(setting.labelled.tasks);
  const whole: CrossFitted[] = [];
  for (const kind of firstKinds(setting.pinned)) whole.push(await crossFit(setting, kind, known));
  return {
    known,
    played: 0,
    whole,
    pruned: whole,
    remaining: whole,
    adapters: new Map(),
    comparedFirst: [],
    comparedLast: [],
    single: null,
    comparedWithBase: [],
    boughtForHarm: 0,
    served: { decisions: whole[0]!, several: null, switches: null },
    followed: Infinity,
    final: null,
    tools: null,
    spending: [],
  };
}
