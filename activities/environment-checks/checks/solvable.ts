import type { EnvironmentHandle } from '../../environment';
import { CERTIFICATION, type CheckResult, type Examination, text } from '../examination';
import { meanOrZero } from '../../statistics/mean';
import { rewardsOf } from '../play';

/** The reference solution earns full reward on every task. */
export async function checkReference(environment: EnvironmentHandle, { tasks }: Examination): Promise<CheckResult> {
  const earned = await rewardsOf(
    environment,
    tasks.map(({ seed, reference }) => ({ seed, moves: reference })),
  );
  const lowest = Math.min(...earned);
  const worst = tasks[earned.indexOf(lowest)]!;
  const passed = lowest >= CERTIFICATION.minReferenceReward;
  const detail = passed
    ? `The reference solution earned at least ${text(lowest)} on each of ${tasks.length} tasks.`
    : `The reference solution of seed ${worst.seed} earns ${text(lowest)} instead of 1, and ${text(meanOrZero(earned))} on average over ${tasks.length} tasks.`;
  return {
    passed,
    detail,
    figures: [
      { name: 'lowest reward of the reference solution', value: lowest, atLeast: CERTIFICATION.minReferenceReward },
    ],
  };
}
