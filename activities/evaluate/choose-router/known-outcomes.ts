import { NONE_LABEL } from '../../../contracts/names';
import type { RoutingTask } from '../../../routing/labelled-tasks';
import { mean } from '../../statistics/mean';

/** The arm of a task whose conversation is played as it would be served, with its changes of adapter. */
export const FOLLOWED = 'followed';

/** One trial of an arm on a task. */
export interface Outcome {
  seed: number;
  arm: string;
  passed: boolean;
}

/** Outcomes of every arm on the train tasks: the base model's rollouts of `collect`, and those that were bought. */
export class KnownOutcomes {
  private readonly passes: Map<string, readonly number[]>;

  constructor(from: readonly RoutingTask[] | KnownOutcomes) {
    this.passes =
      from instanceof KnownOutcomes
        ? new Map(from.passes)
        : new Map(from.map(({ seed, basePasses }) => [key(seed, NONE_LABEL), [...basePasses]]));
  }

  /** These outcomes and further ones. */
  with(outcomes: readonly Outcome[]): KnownOutcomes {
    if (outcomes.length === 0) return this;
    const all = new KnownOutcomes(this);
    for (const { seed, arm, passed } of outcomes) all.add(seed, arm, passed);
    return all;
  }

  /** Notes one trial of an arm on a task. */
  add(seed: number, arm: string, passed: boolean): void {
    const place = key(seed, arm);
    this.passes.set(place, [...(this.passes.get(place) ?? []), passed ? 1 : 0]);
  }

  /** Passes (1) and failures (0) of an arm on a task; empty when it was not played. */
  of(seed: number, arm: string): readonly number[] {
    return this.passes.get(key(seed, arm)) ?? [];
  }

  /** Pass rate of an arm on a task; null when it was not played. */
  rate(seed: number, arm: string): number | null {
    const passes = this.of(seed, arm);
    return passes.length === 0 ? null : mean(passes);
  }
}

const key = (seed: number, arm: string): string => `${seed} ${arm}`;
