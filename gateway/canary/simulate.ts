import { SequentialTest } from './sequential-test';

/** A canary that is simulated. */
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

/** Random numbers in [0, 1) from a seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
