/**
 * Decides whether the adapter of one capability gets every conversation. A router that reads openings can be worse than
 * that: a need that every task has says nothing, and openings may not show any need.
 */
import { gainsOfSingles } from '../../../../routing/fit/best-single';
import { adaptersThrough, withoutLosers } from '../adapter-set';
import { CLEARLY, difference, LEAST_TASKS } from '../compare-decisions';
import { crossFit } from '../cross-fit';
import { ARM_TRIALS } from '../play-arms';
import { buy, type Round, wholeOf, withSpending } from '../state';

/** The share of the round's budget after which an adapter that is clearly behind is given up. */
const FIRST_PART = 0.25;

/** Compares the best router, as it would be served, with the best adapter alone. */
export const singleRound: Round = async (setting, begun, budget) => {
  const { pinned, ids, labelled, order } = setting;
  if (pinned !== null && pinned !== 'single') return begun;
  const router = begun.served.decisions;
  const base = wholeOf(begun, 'base');
  const routed = difference(router, base, begun.comparedFirst, begun.known);
  const [likeliest] = gainsOfSingles(labelled.tasks, ids, begun.known);
  // It is played on nearly all tasks, so it is left out if it seems clearly worse.
  const toBeat = Math.max(0, routed.estimate - CLEARLY * routed.standardError);
  if (pinned === null && (likeliest === undefined || likeliest.gain <= toBeat)) return begun;
  const whole = await crossFit(setting, 'single', begun.known);
  const tasks = order.slice(0, begun.followed);
  const differing = tasks.filter((task) => whole.chosen[task] !== router.chosen[task]).length;
  if (pinned === null && differing < LEAST_TASKS) return begun;
  const spent = begun.played * ARM_TRIALS;
  // Base's outcomes are known, so with base every task of the adapter is played: the others alone would be the tasks on
  // which the router does not choose it.
  const rivals = [router, whole, base];
  const first = await buy(setting, begun, rivals, spent + (budget - spent) * FIRST_PART, tasks);
  const early = difference(whole, router, first.compared, first.state.known);
  const isBehind = early.estimate < -CLEARLY * early.standardError;
  const { state: bought, compared } = isBehind ? first : await buy(setting, first.state, rivals, budget, tasks);
  const adapters = adaptersThrough(whole, ids, compared, bought.known);
  const decisions = withoutLosers(whole, adapters);
  const { estimate, standardError } = difference(decisions, router, compared, bought.known);
  const isServed = pinned !== null || (compared.length >= LEAST_TASKS && estimate > standardError);
  const state = {
    ...bought,
    whole: [...bought.whole, whole],
    pruned: [...bought.pruned, decisions],
    adapters: new Map([...bought.adapters, ['single' as const, adapters]]),
    single: { tasks: compared, rival: router },
    comparedWithBase: isServed ? compared : bought.comparedWithBase,
    served: isServed
      ? {
          decisions,
          several: null,
          switches: bought.served.switches && { ...bought.served.switches, adopted: false },
        }
      : bought.served,
  };
  return withSpending(setting, state, 'single', state.served.decisions);
};
