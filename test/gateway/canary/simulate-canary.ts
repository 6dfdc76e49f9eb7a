import { SequentialTest } from '../../../gateway/canary/sequential-test';

/** A canary to simulate. */
export interface SimulatedCanary {
  share: number;
  falseRollback: number;
  /** Chance of reward 1 for each arm. */
  activeRate: number;
  canaryRate: number;
  /** Conversations of both arms together. */
  conversations: number;
}

/**
 * The number of the conversation after which it was rolled back; null when it was not. `random` gives numbers in [0,
 * 1).
 */
export function simulateCanary(
  { share, falseRollback, activeRate, canaryRate, conversations }: SimulatedCanary,
  random: () => number,
): number | null {
  const test = new SequentialTest(share, falseRollback);
  for (let n = 1; n <= conversations; n++) {
    const arm = random() < share ? 'canary' : 'active';
    test.add(arm, random() < (arm === 'canary' ? canaryRate : activeRate) ? 1 : 0);
    if (test.isWorse) return n;
  }
  return null;
}
