/** Estimates what each adapter would gain over base if every conversation got it. */
import { stratifiedMean } from '../../activities/statistics/stratified-mean';
import { mean } from '../../activities/statistics/mean';
import type { Outcomes } from '../kind';
import type { RoutingTask } from '../labelled-tasks';

/** The gain of one adapter over all tasks. */
export interface SingleGain {
  capabilityId: string;
  /** Estimated pass rate minus that of base, moved towards 0 where few tasks were played. */
  gain: number;
}

/**
 * The adapters with the highest estimated gain first. Routers chose the tasks that an adapter played, so those that
 * need its capability and the others are strata with their share of all tasks.
 */
export function gainsOfSingles(
  tasks: readonly RoutingTask[],
  capabilityIds: readonly string[],
  outcomes: Outcomes,
): SingleGain[] {
  const gainsOf = (some: readonly RoutingTask[], arm: string) =>
    some.flatMap(({ seed, basePasses }) => {
      const passes = outcomes.of(seed, arm);
      return passes.length === 0 || basePasses.length === 0 ? [] : [mean(passes) - mean(basePasses)];
    });
  return capabilityIds
    .map((capabilityId) => {
      const strata = [true, false]
        .map((needed) => tasks.filter(({ needs }) => needs.includes(capabilityId) === needed))
        .filter((some) => some.length > 0)
        .map((some) => ({ values: gainsOf(some, capabilityId), share: some.length / tasks.length }));
      return { capabilityId, gain: stratifiedMean(strata).mean };
    })
    .sort((a, b) => b.gain - a.gain);
}
