/**
 * The last comparison: the best router as it would be served, the mixed adapter alone, and the router that has the
 * mixed adapter among its arms (docs/adr/0022). The budget is spent in two halves, as that of the routers is.
 */
import { isDeepStrictEqual } from 'node:util';
import type { RouterChoice } from '../../../contracts/artifacts/router';
import { MIXED } from '../../../contracts/names';
import { adaptersThrough, leftOutOf, withoutLosers } from './adapter-set';
import { chooseKind, type Decisions, mixedOnBaseTasks, survivors } from './competition';
import type { CrossFitted } from './decisions';
import { FOLLOWED, type KnownOutcomes } from './known-outcomes';

/** Share of what is left of the budget after which a finalist that is clearly behind leaves. */
const FIRST_SHARE = 0.5;

/** Who is compared. */
interface Finalists {
  base: CrossFitted;
  /** The best router by openings alone. */
  router: Decisions;
  /** The same as it would be served. */
  served: Decisions;
  mixed: CrossFitted;
}

/** What the comparison needs of the competition. */
export interface FinalHost {
  known: KnownOutcomes;
  seeds: readonly number[];
  capabilityIds: readonly string[];
  /** Drawn order of the tasks. */
  order: readonly number[];
  /** Buys up to a share of what is left of the budget; returns the tasks of the order that can be compared. */
  play(decisions: readonly Decisions[], share: number, order: readonly number[]): Promise<number[]>;
  /** The router `outcomes-mixed` of what is known now, cross-fitted. */
  learn(): Promise<CrossFitted>;
  /** Told after each half who would be chosen, and on what that was judged. */
  note(step: 'mixed' | 'finalists', best: Decisions, compared: readonly number[]): void;
}

/** What the comparison showed. */
export interface FinalRound {
  mixed: CrossFitted;
  /** `outcomes-mixed`, before adapters that harm are left out. */
  whole: CrossFitted;
  /** The same as it would be served. */
  learned: Decisions;
  /** Each adapter, and the mixed one, through it. */
  adapters: RouterChoice['adapters'];
  /** Tasks on which all finalists were compared, and those on which the ones that were left were. */
  first: readonly number[];
  last: readonly number[];
  left: readonly Decisions[];
  mixedOnBaseTasks: RouterChoice['mixedOnBaseTasks'] | null;
  winner: Decisions;
}

/** Plays both halves and chooses. */
export async function playFinal(host: FinalHost, { base, router, served, mixed }: Finalists): Promise<FinalRound> {
  const { known, seeds, order, capabilityIds } = host;
  const rivals = served.kind === 'base' ? [base, mixed] : [base, mixed, served];
  const judge = (whole: CrossFitted, tasks: readonly number[]) => {
    const adapters = adaptersThrough(whole, [...capabilityIds, MIXED], tasks, seeds, known);
    return { whole, adapters, learned: asServed(withoutLosers(whole, adapters), router, served) };
  };
  const onBase = (tasks: readonly number[]) => mixedOnBaseTasks({ mixed, router: served, base }, tasks, seeds, known);
  const withoutMixedIf = (harms: boolean | undefined, all: readonly Decisions[]) =>
    harms ? all.filter((kind) => kind !== mixed) : all;
  const choose = (left: readonly Decisions[], tasks: readonly number[]) => chooseKind(left, tasks, seeds, known);

  const begun = await host.play(rivals, FIRST_SHARE, order);
  const early = await host.learn();
  // It may choose what no rival does.
  const first = await host.play([...rivals, early], 1, begun);
  const judged = judge(early, first);
  const left = survivors(withoutMixedIf(onBase(first)?.harms, [...rivals, judged.learned]), first, seeds, known);
  host.note('mixed', choose(left, first), first);

  // Of one that is left there is nothing to compare.
  const last = left.length > 1 ? await host.play(left, 1, order) : first;
  const refitted = left.includes(judged.learned) ? judge(relearned(await host.learn(), early, host), first) : judged;
  // What would be left out now was not judged where nothing was bought.
  const counted = isDeepStrictEqual(leftOutOf(refitted.adapters), leftOutOf(judged.adapters)) ? refitted : judged;
  const bothLeft = left.includes(mixed) && (left.includes(served) || left.includes(base));
  const verdict = onBase(bothLeft ? last : first);
  const leftNow = withoutMixedIf(verdict?.harms, left).map((kind) =>
    kind === judged.learned ? counted.learned : kind,
  );
  const winner = choose(leftNow, last);
  host.note('finalists', winner, last);
  return { mixed, ...counted, first, last, left: leftNow, mixedOnBaseTasks: verdict, winner };
}

/** Tasks on which two of them were compared. */
export const comparedIn = ({ left, first, last }: FinalRound, one: Decisions, other: Decisions): readonly number[] =>
  left.includes(one) && left.includes(other) ? last : first;

/** Its conversations move as the router's do, unless the mixed adapter has them. */
function asServed({ kind, chosen }: Decisions, router: Decisions, served: Decisions): Decisions {
  const follows = (arm: string, task: number) =>
    served.chosen[task] === FOLLOWED && arm === router.chosen[task] && arm !== MIXED;
  return { kind, chosen: chosen.map((arm, task) => (follows(arm, task) ? FOLLOWED : arm)) };
}

/**
 * The decisions of what has been learned until the end, which is nearer to what is served. Those of before stay where
 * no outcome tells: there nothing was bought, because all that were left agreed.
 */
function relearned(now: CrossFitted, before: CrossFitted, { seeds, known }: FinalHost): CrossFitted {
  const isKnown = ({ chosen }: CrossFitted, task: number) => known.rate(seeds[task]!, chosen[task]!) !== null;
  const choices = now.choices.map((choice, task) =>
    isKnown(now, task) && isKnown(before, task) ? choice : before.choices[task]!,
  );
  return { kind: now.kind, choices, chosen: choices.map(({ capabilityId }) => capabilityId) };
}
