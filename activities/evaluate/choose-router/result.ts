/** The chosen router, fitted on all train tasks, and the account of how it was chosen. */
import type { RouterChoice } from '../../../contracts/artifacts/router-choice';
import type { RouterKind } from '../../../contracts/config/router-kinds';
import { choosesArms, fitRouter, KINDS, type Router } from '../../../routing/kinds';
import { adaptersThrough, leftOutOf } from './adapter-set';
import { bestOf, competitorRow, type Decisions } from './competition';
import { comparedIn } from './final-round';
import { harmOf } from './harm-bound';
import { ARM_TRIALS } from './play-arms';
import { routerReliability } from './reliability';
import { fitDataOf, type ServedRouter, type Setting, type State, wholeOf } from './round';
import { withLaterMessages } from './rounds/later-messages';
import { fitSeveralNeeds } from './rounds/several-needs';
import { withHeartbeats } from './with-heartbeats';

/** The pinned router, or the winner. */
export async function resultOf(setting: Setting, state: State): Promise<{ router: Router; choice: RouterChoice }> {
  const kind = setting.pinned ?? state.final?.winner.kind ?? state.served.decisions.kind;
  const served = servedAs(state, kind);
  const adapters = adaptersOf(setting, state, kind);
  const router = await withHeartbeats(`fitting router ${kind}`, () =>
    fit(setting, state, kind, leftOutOf(adapters), served),
  );
  const choice = describe(setting, state, kind, adapters);
  const more: Partial<RouterChoice> = served?.laterTurns
    ? { laterTurns: served.laterTurns }
    : // Rollouts for a router that is not chosen were bought for the comparison.
      { rollouts: choice.rollouts + (state.served.laterTurns?.rollouts ?? 0) };
  return { router, choice: { ...choice, ...(served?.several && { severalNeeds: served.several }), ...more } };
}

/** The decisions of a kind as it would be served. Null for one arm, and for a router that lost. */
function servedAs({ served, final }: State, kind: RouterKind): ServedRouter | null {
  if (kind === served.decisions.kind) return served;
  if (!KINDS[kind].needs.outcomes || final === null) return null;
  // It decides by itself which openings with several needs get the mixed adapter.
  return { decisions: final.learned, several: null, laterTurns: served.laterTurns };
}

async function fit(
  setting: Setting,
  { known }: State,
  kind: RouterKind,
  leftOut: string[],
  served: ServedRouter | null,
): Promise<Router> {
  const fitted: Router = { ...(await fitRouter(kind, fitDataOf(setting, known))), leftOut };
  if (!choosesArms(fitted) || served === null) return fitted;
  const router = served.several?.adopted ? { ...fitted, severalNeeds: await fitSeveralNeeds(setting) } : fitted;
  return served.laterTurns?.adopted ? withLaterMessages(setting, router, served.laterTurns) : router;
}

/** Each adapter through a kind: where every task that is given to one was played. */
function adaptersOf(setting: Setting, state: State, kind: RouterKind): RouterChoice['adapters'] {
  const { adapters, final, comparedFirst, known } = state;
  if (KINDS[kind].needs.outcomes && final !== null) return final.adapters;
  const whole = wholeOf(state, kind);
  return adapters.get(kind) ?? adaptersThrough(whole, setting.ids, comparedFirst, setting.seeds, known);
}

/** How much the chosen kind may lose against base, as it would be served. */
function harmBy({ seeds, lossMargin: margin }: Setting, state: State, kind: RouterKind): Pick<RouterChoice, 'harm'> {
  const { final, known, boughtForHarm, comparedWithBase, comparedFirst } = state;
  const decisions = final && kind === 'mixed' ? final.mixed : servedAs(state, kind)?.decisions;
  if (decisions === undefined) return {};
  const isFinal = final !== null && KINDS[kind].needs.mixed;
  // All tasks that were given to an adapter of these were played.
  const gainTasks = comparedWithBase.length > 0 ? comparedWithBase : comparedFirst;
  const tasks = isFinal ? comparedIn(final, decisions, wholeOf(state, 'base')) : gainTasks;
  const harm = harmOf(decisions, tasks, seeds, known, { margin, bought: isFinal ? 0 : boughtForHarm });
  return harm ? { harm } : {};
}

function describe(
  setting: Setting,
  state: State,
  chosen: RouterKind,
  adapters: RouterChoice['adapters'],
): RouterChoice {
  const { seeds, pinned, labelled, budget } = setting;
  const { known, left, comparedLast, final, pruned, played, spending, served } = state;
  const base = wholeOf(state, 'base');
  const rival = served.decisions.kind === 'base' ? base : served.decisions;
  return {
    chosen,
    pinned: pinned !== null,
    trainTasks: seeds.length,
    compared: comparedLast.length,
    rollouts: played * ARM_TRIALS,
    budget: budget.arms,
    competitors: competitorsOf(setting, state, base, rival, bestOf(left, comparedLast, seeds, known), pruned),
    ...(final && { comparedMixed: comparedIn(final, final.mixed, rival).length }),
    ...(final?.mixedOnBaseTasks && { mixedOnBaseTasks: final.mixedOnBaseTasks }),
    adapters,
    ...harmBy(setting, state, chosen),
    ...(spending.length > 0 && { spending: [...spending] }),
    ...routerReliability(wholeOf(state, chosen), labelled.tasks),
  };
}

function competitorsOf(
  { seeds }: Setting,
  { known, left, final, comparedFirst, comparedLast }: State,
  base: Decisions,
  rival: Decisions,
  best: Decisions,
  pruned: readonly Decisions[],
): RouterChoice['competitors'] {
  const hasLeft = (kind: Decisions) =>
    !(left.includes(kind) || final?.left.includes(kind) || (kind === final?.mixed && final.mixedOnBaseTasks?.harms));
  const row = (kind: Decisions, other: Decisions, withBase: readonly number[], withBest: readonly number[]) =>
    competitorRow(kind, { base, best: other }, { withBase, withBest }, seeds, known, hasLeft(kind));
  const finalists = final ? [final.mixed, final.learned] : [];
  return [
    ...pruned.map((kind) => row(kind, best, comparedFirst, hasLeft(kind) ? comparedFirst : comparedLast)),
    ...finalists.map((kind) => row(kind, rival, comparedIn(final!, kind, base), comparedIn(final!, kind, rival))),
  ];
}
