import { percentText } from '../../contracts/share-text';

/**
 * After every outcome, tests whether a canary is worse than the active version, its control.
 *
 * Conversations are assigned by hash: with probability p (`share`) to the canary, else to the control. Let r be the
 * reward of an outcome and m the mean reward before it. Let Z = (r - m)/p for the canary, -(r - m)/(1 - p) for the
 * control. Given the past, E[Z] is the canary's mean minus the control's. If the canary is not worse, E[Z] >= 0. Then
 * the product of (1 - lambda Z) over outcomes is a non-negative supermartingale, for each lambda > 0 that is fixed
 * beforehand and small enough to keep all factors positive. So is the mean of these products over a grid of lambdas. By
 * Ville's inequality that mean reaches 1/alpha with probability at most alpha over the whole life of the canary,
 * however often it is tested (testing by betting, Waudby-Smith and Ramdas 2024; inverse-propensity weights as in Howard
 * et al. 2021). No horizon has to be chosen. Outcomes may be late or missing, as long as that does not depend on the
 * arm.
 */

import { hash } from 'node:crypto';
import type { Canary } from '../../contracts/artifacts/registry';

/**
 * Lambdas, as shares of the largest lambda that keeps all factors positive. Each is the best one for a certain size of
 * loss.
 */
const BETS = [0.5, 0.25, 0.125, 0.0625, 0.03125];

/** The test of one canary; see the head of this file. */
export class SequentialTest {
  private readonly lambdas: Float64Array;
  /** One product for each lambda. A product that underflows to 0 stays 0, even if losses follow. */
  private readonly products: Float64Array;
  private readonly sums = { active: 0, canary: 0 };
  private readonly counts = { active: 0, canary: 0 };

  /** `share` in (0, 1); `falseRollback` is alpha. */
  constructor(
    private readonly share: number,
    private readonly falseRollback: number,
  ) {
    const largest = Math.min(share, 1 - share);
    this.lambdas = Float64Array.from(BETS, (bet) => bet * largest);
    this.products = new Float64Array(BETS.length).fill(1);
  }

  /** Adds an outcome; `reward` in [0, 1]. */
  add(arm: 'active' | 'canary', reward: number): void {
    const { sums, counts, lambdas, products, share } = this;
    // Half a conversation with reward 0 and half a conversation with reward 1 are added, so that there is a mean from
    // the start.
    const mean = (sums.active + sums.canary + 0.5) / (counts.active + counts.canary + 1);
    const z = arm === 'canary' ? (reward - mean) / share : (mean - reward) / (1 - share);
    for (let i = 0; i < products.length; i++) products[i] = (products[i] as number) * (1 - (lambdas[i] as number) * z);
    sums[arm] += reward;
    counts[arm] += 1;
  }

  /** Evidence that the canary is worse: below 1 there is none, and 1 / falseRollback or more is enough. */
  get evidence(): number {
    let sum = 0;
    for (let i = 0; i < this.products.length; i++) sum += this.products[i] as number;
    return sum / this.products.length;
  }

  /** Whether the evidence is enough. */
  get isWorse(): boolean {
    return this.evidence >= 1 / this.falseRollback;
  }

  /** The numbers in words, for the registry and the log. */
  describe(): string {
    const { sums, counts } = this;
    const say = (arm: 'active' | 'canary') =>
      counts[arm] === 0 ? 'none' : `${percentText(sums[arm] / counts[arm])} of ${counts[arm]}`;
    const rewards = `reward ${say('canary')} conversations against ${say('active')}`;
    const threshold = (1 / this.falseRollback).toFixed(0);
    return `${rewards} of the version before, evidence ${this.evidence.toFixed(1)} (rolled back at ${threshold})`;
  }
}

/** Whether the canary gets a conversation. This depends only on canary and key, so that all gateways agree. */
export function isInCanary({ id, share }: Pick<Canary, 'id' | 'share'>, conversation: string): boolean {
  return Number.parseInt(hash('sha256', `${id}\u0000${conversation}`, 'hex').slice(0, 13), 16) / 2 ** 52 < share;
}
