import { NONE_LABEL } from '../../../contracts/names';
import type { RoutingTask } from '../../../routing/labelled-tasks';
import { mean } from '../../statistics/mean';

/** The arm of a task whose conversation is played as it would be served, with its switches at later messages. */
export const FOLLOWED = 'followed';

/** The same for switches by what tools show: another router may have outcomes of `FOLLOWED` on the task. */
export const FOLLOWED_TOOLS = 'followed-tools';

/** One arm on the task with this seed. */
export interface ArmOnTask {
  seed: number;
  /** Capability, `mixed`, `none`, FOLLOWED or FOLLOWED_TOOLS. */
  arm: string;
}

/** One trial of an arm on a task. */
export interface Outcome extends ArmOnTask {
  /** Null: the episode failed, so the trial has no result. */
  passed: boolean | null;
}

/** Outcomes of every arm on the train tasks: the base model's rollouts of `collect`, and those that were bought. */
export class KnownOutcomes {
  /** @param passes by task and arm. Default: those of base. */
  constructor(
    private readonly tasks: readonly Pick<RoutingTask, 'seed' | 'basePasses'>[],
    private readonly passes = new Map<string, readonly number[]>(
      tasks.map(({ seed, basePasses }) => [key(seed, NONE_LABEL), basePasses]),
    ),
  ) {}

  /** A copy of these outcomes with further ones. */
  with(outcomes: readonly Outcome[]): KnownOutcomes {
    const all = new KnownOutcomes(this.tasks, new Map(this.passes));
    for (const { seed, arm, passed } of outcomes) all.add(seed, arm, passed);
    return all;
  }

  /** Adds one trial of an arm on a task. */
  add(seed: number, arm: string, passed: boolean | null): void {
    this.passes.set(key(seed, arm), [...this.of(seed, arm), ...(passed === null ? [] : [passed ? 1 : 0])]);
  }

  /** Whether an arm played the task with this index, with a result or without. */
  wasPlayed(task: number, arm: string): boolean {
    return this.passes.has(key(this.seedOf(task), arm));
  }

  /** Passes (1) and failures (0) of an arm on the task with this seed; empty when it has no result. */
  of(seed: number, arm: string): readonly number[] {
    return this.passes.get(key(seed, arm)) ?? [];
  }

  /** Seed of the task with this index. */
  seedOf(task: number): number {
    return this.tasks[task]!.seed;
  }

  /** Pass rate of an arm on the task with this index; null if the arm has no result there. */
  rate(task: number, arm: string): number | null {
    const passes = this.of(this.seedOf(task), arm);
    return passes.length === 0 ? null : mean(passes);
  }

  /** An arm's pass rate on the task with this index, minus base's; null if the arm has no result there. */
  gain(task: number, arm: string): number | null {
    const rate = this.rate(task, arm);
    return rate === null ? null : rate - (this.rate(task, NONE_LABEL) ?? 0);
  }
}

const key = (seed: number, arm: string): string => `${seed} ${arm}`;
