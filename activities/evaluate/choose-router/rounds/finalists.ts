/**
 * The last comparison: the best router as it would be served, the mixed adapter alone, and the router with the mixed
 * adapter among its arms (docs/adr/0020). Half of the remaining budget is for all of them, the rest for those that are
 * close to the best.
 */
import { isDeepStrictEqual } from 'node:util';
import { MIXED } from '../../../../contracts/names';
import { adaptersThrough, leftOutOf, withoutLosers } from '../adapter-set';
import { chooseKind, type Decisions, mixedOnBaseTasks, survivors } from '../compare-decisions';
import { crossFit, type CrossFitted, decisionsBy } from '../cross-fit';
import { FOLLOWED, type KnownOutcomes } from '../known-outcomes';
import { ARM_TRIALS } from '../play-arms';
import { buy, type FinalRound, type Round, type Setting, type State, wholeOf, withSpending } from '../state';

/** The decisions that are compared. */
interface Finalists {
  base: CrossFitted;
  /** The best router by openings alone. */
  router: Decisions;
  /** The same router as it would be served. */
  served: Decisions;
  mixed: CrossFitted;
  /** Learns the router `outcomes-mixed` from these outcomes. */
  learn: (known: KnownOutcomes) => Promise<CrossFitted>;
}

/** Compares the routers that use the mixed adapter with the best router. */
export const finalRound: Round = async (setting, begun, budget) => {
  if (!setting.playsMixed) return begun;
  const { decisions } = begun.served;
  const base = wholeOf(begun, 'base');
  const finalists: Finalists = {
    base,
    router: begun.pruned.find(({ kind }) => kind === decisions.kind)!,
    served: decisions.kind === 'base' ? base : decisions,
    mixed: await crossFit(setting, 'mixed', begun.known),
    learn: (known) => crossFit(setting, 'outcomes-mixed', known),
  };
  return playFinal(setting, begun, finalists, budget);
};

/** Plays both halves and chooses. */
export async function playFinal(
  setting: Setting,
  begun: State,
  { base, router, served, mixed, learn }: Finalists,
  budget: number,
): Promise<State> {
  const rivals = served.kind === 'base' ? [base, mixed] : [base, mixed, served];
  const judge = (whole: CrossFitted, tasks: readonly number[], known: KnownOutcomes) => {
    const adapters = adaptersThrough(whole, [...setting.ids, MIXED], tasks, known);
    return { whole, adapters, learned: asServed(withoutLosers(whole, adapters), router, served) };
  };
  const onBase = (tasks: readonly number[], { known }: State) =>
    mixedOnBaseTasks({ mixed, router: served, base }, tasks, known);
  const withoutMixedIf = (harms: boolean | undefined, all: readonly Decisions[]) =>
    harms ? all.filter((kind) => kind !== mixed) : all;

  const spent = begun.played * ARM_TRIALS;
  const half = await buy(setting, begun, rivals, spent + (budget - spent) / 2);
  const early = await learn(half.state.known);
  // `outcomes-mixed` may choose an arm that no rival chooses, so rollouts of its arms are bought, too.
  const bought = await buy(setting, half.state, [...rivals, early], budget, half.compared);
  const [first, { known }] = [bought.compared, bought.state];
  const judged = judge(early, first, known);
  const harms = onBase(first, bought.state)?.harms;
  const remaining = survivors(withoutMixedIf(harms, [...rivals, judged.learned]), first, known);
  const state = withSpending(setting, bought.state, 'mixed', chooseKind(remaining, first, known), first);

  // A single remaining finalist has no rival.
  const rest = remaining.length > 1 ? await buy(setting, state, remaining, budget) : { state, compared: first };
  const { state: end, compared: last } = rest;
  const refitted = remaining.includes(judged.learned)
    ? judge(relearned(await learn(end.known), early, end.known), first, end.known)
    : judged;
  // The refit counts only if it leaves out the same adapters. A changed set of adapters was not compared on tasks where
  // nothing was bought.
  const counted = isDeepStrictEqual(leftOutOf(refitted.adapters), leftOutOf(judged.adapters)) ? refitted : judged;
  const bothRemain = remaining.includes(mixed) && (remaining.includes(served) || remaining.includes(base));
  const verdict = onBase(bothRemain ? last : first, end);
  const remainingNow = withoutMixedIf(verdict?.harms, remaining).map((kind) =>
    kind === judged.learned ? counted.learned : kind,
  );
  const winner = chooseKind(remainingNow, last, end.known);
  const final: FinalRound = {
    mixed,
    ...counted,
    first,
    last,
    remaining: remainingNow,
    mixedOnBaseTasks: verdict,
    winner,
  };
  return withSpending(setting, { ...end, final }, 'finalists', winner, last);
}

/** Its conversations switch like the router's, unless they belong to the mixed adapter. */
function asServed({ kind, chosen }: Decisions, router: Decisions, served: Decisions): Decisions {
  const follows = (arm: string, task: number) =>
    served.chosen[task] === FOLLOWED && arm === router.chosen[task] && arm !== MIXED;
  return { kind, chosen: chosen.map((arm, task) => (follows(arm, task) ? FOLLOWED : arm)) };
}

/**
 * The decisions of the router that was fitted on all outcomes, which is closest to the served router. If the outcome of
 * the new or the earlier decision on a task is unknown, the earlier decision stays. No rollout was bought there,
 * because all remaining finalists agreed.
 */
function relearned(now: CrossFitted, before: CrossFitted, known: KnownOutcomes): CrossFitted {
  const isKnown = ({ chosen }: CrossFitted, task: number) => known.rate(task, chosen[task]!) !== null;
  const choices = now.choices.map((choice, task) =>
    isKnown(now, task) && isKnown(before, task) ? choice : before.choices[task]!,
  );
  return decisionsBy(now.kind, choices);
}
