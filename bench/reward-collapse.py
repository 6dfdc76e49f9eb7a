"""Simulates the trainer's rule for a collapsed reward: how often it stops a noisy run, how soon a collapsed one.

    make bench NAME=reward-collapse

Rewards are 0 or 1, in 4 groups of 4 per iteration. `correlation` is that of the rollouts of one task: each task's
success rate is drawn from a beta distribution with the given mean, and at 1 all rollouts of a task have the same
reward. A false alarm is a stop of a curve whose mean stays the same. A fall takes the mean to 0 after iteration 20. The
last line is JSON:
{"name", "falseAlarms": {case: worst share over the means}, "noticed": {mean: [share, median iterations]}}.
"""

import argparse
import json
import random
import statistics

from whetstone.train.loss.divergence import Diverged, check_reward

GROUPS, ROLLOUTS = 4, 4
MEANS = (0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8)


def iteration(rng: random.Random, mean: float, correlation: float) -> float:
    """Mean reward of one iteration."""
    if correlation == 1 or mean == 0:
        return sum(rng.random() < mean for _ in range(GROUPS)) / GROUPS
    size = (1 - correlation) / correlation
    rates = [rng.betavariate(mean * size, (1 - mean) * size) for _ in range(GROUPS)]
    return sum(rng.random() < rate for rate in rates for _ in range(ROLLOUTS)) / (GROUPS * ROLLOUTS)


def stopped(curve: list[float]) -> int | None:
    """Iteration after which the rule stops the run; None if it does not."""
    for end in range(20, len(curve) + 1):
        try:
            check_reward(curve[:end], GROUPS, 1, 0.5)
        except Diverged:
            return end
    return None


def main() -> None:
    """Simulates the curves and prints the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--curves", type=int, default=4000, help="simulated for each mean; a fortieth of the long ones")
    count = parser.parse_args().curves
    rng = random.Random(1)
    alarms, noticed = {}, {}
    for iterations, curves in ((40, count), (400, max(1, count // 40))):
        for correlation in (0.5, 1):
            shares = []
            for mean in MEANS:
                made = ([iteration(rng, mean, correlation) for _ in range(iterations)] for _ in range(curves))
                shares.append(sum(stopped(curve) is not None for curve in made) / curves)
            case = f"{iterations} iterations, correlation {correlation}"
            alarms[case] = max(shares)
            print(f"{case}: {' '.join(f'{share:.4f}' for share in shares)} for means {MEANS}", flush=True)
    for mean in (0.2, 0.3, 0.4, 0.6):
        made = ([iteration(rng, mean, 0.5) for _ in range(20)] + [0.0] * 20 for _ in range(count // 4))
        later = [end - 20 for end in map(stopped, made) if end is not None]
        noticed[mean] = [len(later) / (count // 4), statistics.median(later)]
        print(f"fall from {mean}: noticed in {noticed[mean][0]:.3f}, after {noticed[mean][1]} iterations", flush=True)
    print(json.dumps({"name": "reward-collapse", "falseAlarms": alarms, "noticed": noticed}))


if __name__ == "__main__":
    main()
