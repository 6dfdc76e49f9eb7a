/** The chosen router, fitted on all train tasks, and the record of the choice. */
import type { RouterChoice } from '../../../contracts/artifacts/router-choice';
import type { RouterKind } from '../../../contracts/config/router-kinds';
import { choosesArms, fitRouter, KINDS, type Router } from '../../../routing/kinds';
import { leftOutOf } from './adapter-set';
import { bestOf, competitorRow, type Decisions } from './compare-decisions';
import { fitDataOf } from './cross-fit';
import { harmOf } from './harm-bound';
import { ARM_TRIALS } from './play-arms';
import { routerReliability } from './reliability';
import { withLaterMessages } from './rounds/later-messages';
import { fitSeveralNeeds } from './rounds/several-needs';
import { toolNeedsOf } from './rounds/tool-results';
import { adaptersOf, comparedIn, type ServedRouter, type Setting, type State, wholeOf } from './state';
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
  const more: Partial<RouterChoice> = served?.switches
    ? { laterTurns: served.switches }
    : // Rollouts for a router that is not chosen were bought for the comparison.
      { rollouts: choice.rollouts + (state.served.switches?.rollouts ?? 0) };
  const tools = state.tools && { toolResults: state.tools.comparison };
  return { router, choice: { ...choice, ...(served?.several && { severalNeeds: served.several }), ...more, ...tools } };
}

/** The decisions of a kind as it would be served. Null for a single arm, and for a router that lost. */
function servedAs({ served, final }: State, kind: RouterKind): ServedRouter | null {
  // Switches were compared with the router that `single` replaces.
  if (kind === served.decisions.kind) return kind === 'single' ? { ...served, switches: null } : served;
  if (kind !== 'outcomes-mixed' || final === null) return null;
  // This router itself decides which openings with several needs get the mixed adapter.
  return { decisions: final.learned, several: null, switches: served.switches };
}

async function fit(
  setting: Setting,
  { known, tools }: State,
  kind: RouterKind,
  leftOut: string[],
  served: ServedRouter | null,
): Promise<Router> {
  const plain: Router = { ...(await fitRouter(kind, fitDataOf(setting, known))), leftOut };
  const fitted = await withToolNeeds(setting, plain, tools);
  if (!choosesArms(fitted) || served === null) return fitted;
  const router = served.several?.adopted ? { ...fitted, severalNeeds: await fitSeveralNeeds(setting) } : fitted;
  return served.switches?.adopted ? withLaterMessages(setting, router, served.switches) : router;
}

/** The router with the model of what tools show, if following that is adopted. */
async function withToolNeeds(setting: Setting, router: Router, tools: State['tools']): Promise<Router> {
  if (!tools?.comparison.adopted || router.kind === 'base') return router;
  return { ...router, toolNeeds: await toolNeedsOf(setting, setting.toolNeeds!, tools.comparison) };
}

/** The possible loss of the chosen kind against base, as it would be served. */
function harmBy({ lossMargin: margin }: Setting, state: State, kind: RouterKind): Pick<RouterChoice, 'harm'> {
  const { final, known, boughtForHarm, comparedWithBase } = state;
  const alone = final && kind === 'mixed' ? final.mixed : servedAs(state, kind)?.decisions;
  const decisions = state.tools?.comparison.adopted ? state.tools.decisions : alone;
  if (decisions === undefined) return {};
  const isFinal = final !== null && KINDS[kind].needs.mixed;
  // On these tasks, every adapter was played that some compared decision chooses for the task.
  const tasks = isFinal ? comparedIn(final, alone!, wholeOf(state, 'base')) : comparedWithBase;
  const harm = harmOf(decisions, tasks, known, { margin, bought: isFinal ? 0 : boughtForHarm });
  return harm ? { harm } : {};
}

function describe(
  setting: Setting,
  state: State,
  chosen: RouterKind,
  adapters: RouterChoice['adapters'],
): RouterChoice {
  const { pinned, labelled, budget } = setting;
  const { comparedLast, final, played, spending, served } = state;
  const base = wholeOf(state, 'base');
  const rival = served.decisions.kind === 'base' ? base : served.decisions;
  return {
    chosen,
    pinned: pinned !== null,
    trainTasks: labelled.tasks.length,
    compared: comparedLast.length,
    rollouts: played * ARM_TRIALS,
    budget: budget.arms,
    competitors: competitorsOf(state, base, rival),
    ...(final && { comparedMixed: comparedIn(final, final.mixed, rival).length }),
    ...(final?.mixedOnBaseTasks && { mixedOnBaseTasks: final.mixedOnBaseTasks }),
    adapters,
    ...harmBy(setting, state, chosen),
    ...(spending.length > 0 && { spending: [...spending] }),
    ...routerReliability(wholeOf(state, chosen), labelled.tasks),
  };
}

/** The kinds of the first round against the best of them, and the finalists against the best router as served. */
function competitorsOf(
  { known, pruned, remaining, final, comparedFirst, comparedLast, single, served }: State,
  base: Decisions,
  rival: Decisions,
): RouterChoice['competitors'] {
  const best = bestOf(remaining, comparedLast, known);
  const hasLeft = (kind: Decisions) =>
    !(
      remaining.includes(kind) ||
      served.decisions === kind ||
      final?.remaining.includes(kind) ||
      (kind === final?.mixed && final.mixedOnBaseTasks?.harms)
    );
  const row = (kind: Decisions, other: Decisions, withBase: readonly number[], withBest: readonly number[]) =>
    competitorRow(kind, { base, best: other }, { withBase, withBest }, known, hasLeft(kind));
  const first = pruned.map((kind) =>
    kind.kind === 'single' && single !== null
      ? row(kind, single.rival, single.tasks, single.tasks)
      : row(kind, best, comparedFirst, hasLeft(kind) ? comparedFirst : comparedLast),
  );
  if (final === null) return first;
  const finalists = [final.mixed, final.learned].map((kind) =>
    row(kind, rival, comparedIn(final, kind, base), comparedIn(final, kind, rival)),
  );
  return [...first, ...finalists];
}
