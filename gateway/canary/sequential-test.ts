/**
 * Whether a canary is worse than the version before it, looked at after every outcome.
 *
 * Conversations are assigned by hash: with chance `share` (p) to the canary, else to the control. For an outcome with
 * reward r, and m the mean reward before it, let Z = (r - m)/p for the canary and -(r - m)/(1 - p) for the control.
 * Given the past, E[Z] is the canary's mean minus the control's. If the canary is not worse, E[Z] >= 0, and each
 * product over outcomes of (1 - lambda Z) with a lambda > 0 fixed beforehand and small enough to stay positive is a
 * non-negative supermartingale; so is their mean over a grid of lambdas. By Ville's inequality it reaches 1/alpha with
 * probability at most alpha over the whole life of the canary, however often it is looked at (testing by betting:
 * Waudby-Smith and Ramdas 2024; inverse-propensity weights as in Howard et al. 2021). No horizon has to be chosen,
 * outcomes may come late or not at all, as long as that does not depend on the arm.
 */

/** Bets as shares of the largest that keeps every factor positive; each is best for a loss of another size. */
const BETS = [0.5, 0.25, 0.125, 0.0625, 0.03125];

/** Rewards of one arm. */
export interface ArmFigures {
  conversations: number;
  /** NaN without a conversation. */
  mean: number;
}

export class SequentialTest {
  private readonly lambdas: Float64Array;
  /** One product for each bet. A product that has underflowed stays 0: no later loss makes up for it. */
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
    // Half a conversation at each end of the scale, so that the mean exists before the first outcome.
    const mean = (sums.active + sums.canary + 0.5) / (counts.active + counts.canary + 1);
    const z = arm === 'canary' ? (reward - mean) / share : (mean - reward) / (1 - share);
    for (let i = 0; i < products.length; i++) products[i] = (products[i] as number) * (1 - (lambdas[i] as number) * z);
    sums[arm] += reward;
    counts[arm] += 1;
  }

  /** Evidence that the canary is worse: below 1 none, at 1 / falseRollback enough. */
  get evidence(): number {
    let sum = 0;
    for (let i = 0; i < this.products.length; i++) sum += this.products[i] as number;
    return sum / this.products.length;
  }

  get isWorse(): boolean {
    return this.evidence >= 1 / this.falseRollback;
  }

  figures(arm: 'active' | 'canary'): ArmFigures {
    return { conversations: this.counts[arm], mean: this.sums[arm] / this.counts[arm] };
  }

  /** A sentence with the numbers. */
  describe(): string {
    const say = ({ conversations, mean }: ArmFigures) =>
      conversations === 0 ? 'none' : `${(mean * 100).toFixed(1)} % of ${conversations}`;
    return `reward ${say(this.figures('canary'))} conversations against ${say(this.figures('active'))} of the version before, evidence ${this.evidence.toFixed(1)} (rolled back at ${(1 / this.falseRollback).toFixed(0)})`;
  }
}
