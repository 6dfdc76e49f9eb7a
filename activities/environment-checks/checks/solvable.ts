import type { EnvironmentHandle } from '../../environment';
import { meanOrZero } from '../../statistics/mean';
import { type CheckInput, type CheckResult, twoDecimals } from '../check';
import { CHECK_LIMITS } from '../limits';
import { rewardsOf } from '../play';

/** Checks that the reference solution earns full reward on every task. */
export async function checkSolvable(environment: EnvironmentHandle, { tasks }: CheckInput): Promise<CheckResult> {
  const earned = await rewardsOf(
    environment,
    tasks.map(({ seed, reference }) => ({ seed, moves: reference })),
  );
  const lowest = Math.min(...earned);
  const worst = tasks[earned.indexOf(lowest)]!;
  const passed = lowest >= CHECK_LIMITS.minReferenceReward;
  const detail = passed
    ? `The reference solution earned at least ${twoDecimals(lowest)} on each of ${tasks.length} tasks.`
    : `The reference solution of seed ${worst.seed} earns ${twoDecimals(lowest)} instead of 1, ` +
      `and ${twoDecimals(meanOrZero(earned))} on average over ${tasks.length} tasks.`;
  return {
    passed,
    detail,
    figures: [
      { name: 'lowest reward of the reference solution', value: lowest, atLeast: CHECK_LIMITS.minReferenceReward },
    ],
  };
}
