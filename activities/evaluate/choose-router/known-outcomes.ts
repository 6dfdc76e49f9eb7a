import { NONE_LABEL } from '../../../contracts/names';
import { mean } from '../../statistics/mean';
import type { RoutingTask } from './routing-task';

/** Stands for a task's conversation as it would be served, with its moves. No adapter has this name. */
export const FOLLOWED = 'followed';

/** What is known of every arm on the train tasks: the base model's rollouts of `collect`, and those bought since. */
export class KnownOutcomes {
  private readonly passes = new Map<string, number[]>();

  constructor(tasks: readonly RoutingTask[]) {
    for (const { seed, basePasses } of tasks) this.passes.set(key(seed, NONE_LABEL), [...basePasses]);
  }

  /** Notes one trial of an arm on a task. */
  add(seed: number, capabilityId: string, passed: boolean): void {
    const place = key(seed, capabilityId);
    this.passes.set(place, [...(this.passes.get(place) ?? []), passed ? 1 : 0]);
  }

  /** Passes (1) and failures (0) of an arm on a task; empty when it was not played. */
  of(seed: number, capabilityId: string): readonly number[] {
    return this.passes.get(key(seed, capabilityId)) ?? [];
  }

  /** Pass rate of an arm on a task; null when it was not played. */
  rate(seed: number, capabilityId: string): number | null {
    const passes = this.of(seed, capabilityId);
    return passes.length === 0 ? null : mean(passes);
  }
}

const key = (seed: number, capabilityId: string): string => `${seed} ${capabilityId}`;
