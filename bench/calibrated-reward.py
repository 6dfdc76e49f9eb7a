"""Simulates the rule that holds the first rewards against the calibration: false alarms, and which gaps it notices.

    make bench NAME=calibrated-reward

Rewards are 0 or 1. A calibration plays 8 rollouts of each of its tasks, a training 4 groups of 4 rollouts for ten
iterations in which the policy stays the base model. `correlation` is that of the rollouts of one task: each task's
success rate is drawn from a beta distribution. A false alarm is a stop where both have the same mean. The last line is
JSON: {"name", "falseAlarms": {case: worst share over the means}, "noticed": {gap: share}}.
"""

import argparse
import json
import random
import statistics
from types import SimpleNamespace

from whetstone.train.job import CalibratedReward
from whetstone.train.loss.calibrated_reward import EnvironmentDiffers, check_calibrated

GROUPS, ROLLOUTS, ITERATIONS, CALIBRATION_ROLLOUTS = 4, 4, 10, 8
# The ends and the middle of the default band.
MEANS = (0.2, 0.3, 0.4, 0.5, 0.6)


def task_means(rng: random.Random, mean: float, correlation: float, tasks: int, rollouts: int) -> list[float]:
    """Mean reward of each task."""
    size = (1 - correlation) / correlation
    rates = [rng.betavariate(mean * size, (1 - mean) * size) for _ in range(tasks)]
    return [sum(rng.random() < rate for _ in range(rollouts)) / rollouts for rate in rates]


def calibration(rng: random.Random, mean: float, correlation: float, tasks: int) -> CalibratedReward:
    """A calibration's figures, computed as activities/train/calibrated-reward.ts does."""
    means = task_means(rng, mean, correlation, tasks, CALIBRATION_ROLLOUTS)
    centre, variance = statistics.fmean(means), statistics.variance(means)
    within = max(0.0, centre * (1 - centre) - statistics.pvariance(means))
    within *= CALIBRATION_ROLLOUTS / (CALIBRATION_ROLLOUTS - 1)
    between = max(0.0, variance - within / CALIBRATION_ROLLOUTS)
    return CalibratedReward(centre, tasks, (variance / tasks) ** 0.5, between, within)


def is_stopped(rng: random.Random, calibrated: CalibratedReward, mean: float, correlation: float) -> bool:
    """Whether a training with this mean reward is stopped after any of its iterations."""
    algorithm = SimpleNamespace(
        rolloutsPerGroup=ROLLOUTS, groups=GROUPS, hintShare=0, rewardCollapse=0.5, warmupIterations=2
    )
    environments = [SimpleNamespace(id="simulated")]
    job = SimpleNamespace(calibratedReward=calibrated, beginsFrom=None, algorithm=algorithm, environments=environments)
    lines: list[dict] = []
    for number in range(1, ITERATIONS + 1):
        reward = statistics.fmean(task_means(rng, mean, correlation, GROUPS, ROLLOUTS))
        lines.append({"iteration": number, "reward": reward, "kl": 0, "gradNorm": 0, "meanTokens": 100})
        try:
            check_calibrated(lines, job)
        except EnvironmentDiffers:
            return True
    return False


def main() -> None:
    """Simulates the trainings and prints the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trainings", type=int, default=10000, help="simulated for each mean; a tenth for each gap")
    count = parser.parse_args().trainings
    rng = random.Random(1)

    def share(trainings: int, mean: float, gap: float, correlation: float, tasks: int) -> float:
        stopped = (
            is_stopped(rng, calibration(rng, mean, correlation, tasks), mean + gap, correlation)
            for _ in range(trainings)
        )
        return sum(stopped) / trainings

    alarms, noticed = {}, {}
    for tasks in (16, 40):
        for correlation in (0.1, 0.5):
            shares = [share(count, mean, 0, correlation, tasks) for mean in MEANS]
            case = f"calibrated on {tasks} tasks, correlation {correlation}"
            alarms[case] = max(shares)
            print(f"{case}: {' '.join(f'{one:.5f}' for one in shares)} for means {MEANS}", flush=True)
    for gap in (0.2, 0.3, 0.4, 0.5):
        noticed[gap] = share(max(1, count // 10), 0.4, gap, 0.3, 40)
        print(f"training pays {gap} more than 0.4: noticed in {noticed[gap]:.3f}", flush=True)
    print(json.dumps({"name": "calibrated-reward", "falseAlarms": alarms, "noticed": noticed}))


if __name__ == "__main__":
    main()
