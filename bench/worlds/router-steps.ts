/**
 * What follows a router's choice for an opening, one thing after the other: moving at later turns, beginning with the
 * first of two needs, and the mixed adapter for openings with several needs. Each is played on the held-out tasks where
 * the run adopted it; where it did not, it adds nothing.
 */
import type { RolloutDeps } from '../../activities/rollout/rollout-deps';
import type { CompetitionRouter, RouterChoice } from '../../contracts/artifacts/router';
import type { Way } from './ablation';
import type { FinishedRun } from './finished-run';
import { type OutcomeTable, ratesOf } from './outcome-figures';
import { type Extent, playServed } from './play-arms';
import { decide, openingsOnly } from './routers-alone';

/** Trials of an arm that are bought for a task. */
const TRIALS = 2;

/** Names of the steps, each with what it adds to. */
const STEPS = {
  openings: 'the best router, openings alone',
  moves: '+ moving at later turns (ADR 0018)',
  first: '+ the first of two needs (ADR 0019)',
  several: '+ mixed for several needs (ADR 0020)',
} as const;

/** A router with how it was chosen. */
export interface ChosenRouter {
  router: CompetitionRouter;
  choice: RouterChoice | undefined;
}

/**
 * Pass rates of the router at each step.
 * @param candidate pass rates of the router as it is, where these were played already.
 */
export async function routerSteps(
  deps: RolloutDeps,
  run: FinishedRun,
  { router, choice }: ChosenRouter,
  table: OutcomeTable,
  extent: Extent,
  candidate: readonly number[] | null,
): Promise<Way[]> {
  const opening = await decide(deps, run, openingsOnly(router));
  const openings = ratesOf(table, (task) => opening.get(table.seeds[task]!)!);
  const moves = 'laterTurns' in router ? router.laterTurns : undefined;
  const follow = async (wanted: CompetitionRouter, otherwise: readonly number[]) =>
    (await playServed(deps, run, { router: wanted, decisions: await decide(deps, run, wanted) }, extent, 'a step')) ??
    otherwise;
  const severalAdopted = 'severalNeeds' in router && router.severalNeeds !== undefined;
  // The last step is the router as it is.
  const whole = severalAdopted ? null : candidate;
  const moved = moves ? (!moves.twoNeeds && whole) || (await follow(withMoves(router, false), openings)) : openings;
  const ordered = moves?.twoNeeds ? (whole ?? (await follow(withMoves(router, true), moved))) : moved;
  const { severalNeeds, laterTurns } = choice ?? {};
  return [
    { name: STEPS.openings, rates: openings, rollouts: choice?.rollouts ?? null },
    { name: STEPS.moves, rates: moved, rollouts: laterTurns?.rollouts ?? 0, addsTo: STEPS.openings },
    // Played and judged together with moving.
    { name: STEPS.first, rates: ordered, rollouts: 0, addsTo: STEPS.moves },
    {
      name: STEPS.several,
      rates: severalAdopted && candidate ? candidate : ordered,
      // Those of the mixed adapter. They are among those of the competition.
      rollouts: (severalNeeds?.tasks ?? 0) * TRIALS,
      addsTo: STEPS.first,
    },
  ];
}

/** The router with its moves, and without the mixed adapter for several needs. */
function withMoves(router: CompetitionRouter, firstOfTwo: boolean): CompetitionRouter {
  if (router.kind === 'base' || router.kind === 'mixed' || router.laterTurns === undefined) return router;
  const { severalNeeds: _mixed, ...rest } = router;
  const { twoNeeds, ...moves } = router.laterTurns;
  return { ...rest, laterTurns: { ...moves, ...(firstOfTwo && twoNeeds && { twoNeeds }) } };
}
