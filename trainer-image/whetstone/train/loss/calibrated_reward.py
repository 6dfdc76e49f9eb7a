"""The rule that stops a training whose first rewards differ from its environment's calibration."""

from __future__ import annotations

import math

from ..job import CalibratedReward, TrainingJob

# The rule is applied after each iteration, while the number of tasks is between these two.
FEWEST_TASKS, MOST_TASKS = 12, 40
# The smallest significant difference of the means, absolute and in standard errors, after the part that training itself
# explains.
SMALLEST_GAP, STANDARD_ERRORS = 0.15, 4.5
# Weight of the prior variance, in tasks: the prior is the largest possible variance.
PRIOR_TASKS = 8
# The rule ends once training may have changed the mean reward by this much.
MOST_MOVED = 0.25


class EnvironmentDiffers(Exception):
    """An environment's rewards in training differ from its calibration's."""


def check_calibrated(lines: list[dict], job: TrainingJob) -> None:
    """Raises EnvironmentDiffers if the mean reward of the first iterations is not the calibrated one.

    `lines` are the progress lines so far. Both means are the base model's until the first update. After it, the mean
    reward differs from the base model's by at most the total variation distance of the two policies. That distance is
    at most sqrt(KL / 2) (Pinsker's inequality), where KL is the divergence of whole rollouts. The rule allows this
    difference.

    The means are compared as in `check_reward`, on the scale of the arcsine. There the variance of a task's mean,
    `betweenTasks + withinTask / rollouts`, is expressed as a share of one rollout's variance. `reward` excludes the
    rollouts with hints. Nothing is compared in three cases: all rollouts have hints, the training begins from an
    adapter, or `rewardCollapse` is 0, which means that no reward stops the training.

    docs/measured.md has the rates of false alarms (`calibrated-reward`).
    """
    calibrated, algorithm = job.calibratedReward, job.algorithm
    alone = algorithm.rolloutsPerGroup * (1 - algorithm.hintShare)
    if calibrated is None or job.beginsFrom is not None or not alone or not algorithm.rewardCollapse:
        return
    tasks, reward, moved, is_base = 0.0, 0.0, 0.0, True
    for line in lines:
        distance = 0.0 if is_base else _distance(line)
        # The first step of a warm-up has the learning rate 0.
        is_base = is_base and (line["gradNorm"] == 0 or line["iteration"] == 1 and algorithm.warmupIterations > 0)
        if distance is None:
            continue
        if distance > MOST_MOVED or tasks >= MOST_TASKS:
            return
        # With a large share of hints, some tasks have no rollout without hints.
        drawn = (algorithm.groups + line.get("resampledGroups", 0)) * min(1.0, alone)
        tasks += drawn
        reward += drawn * line["reward"]
        moved += drawn * distance
    if tasks < FEWEST_TASKS:
        return
    mean = reward / tasks
    gap = abs(mean - calibrated.mean) - moved / tasks
    if gap < SMALLEST_GAP:
        return
    nearest = calibrated.mean + math.copysign(gap, mean - calibrated.mean)
    variance = calibrated.betweenTasks + calibrated.withinTask / max(1.0, alone)
    error = math.sqrt(
        _spread(calibrated, variance) / tasks
        + _spread(calibrated, calibrated.standardError**2 * calibrated.tasks) / calibrated.tasks
    )
    if abs(_angle(nearest) - _angle(calibrated.mean)) < STANDARD_ERRORS * error:
        return
    raise EnvironmentDiffers(
        f"environment {job.environments[0].id} pays {mean:.2f} at training seeds ({round(tasks)} tasks),"
        f" {calibrated.mean:.2f} in calibration ({calibrated.tasks} tasks), and chance does not explain that: the base"
        " model gets another reward here than it was accepted for. Correct the environment; where it is right, the"
        " model's server and the trainer read the model's answers differently"
    )


def _angle(mean: float) -> float:
    """A mean on a scale on which a task with one rollout has the variance 1. Rounding may put a mean above 1."""
    return 2 * math.asin(math.sqrt(min(1.0, max(0.0, mean))))


def _spread(calibrated: CalibratedReward, variance: float) -> float:
    """The variance of a task's mean as a share of one rollout's variance, at most 1.

    It was estimated from the calibration's tasks. They are few and may agree by chance, hence PRIOR_TASKS.
    """
    most, own = calibrated.mean * (1 - calibrated.mean), calibrated.tasks - 1
    if most <= 0:
        return 1.0
    return min(1.0, (own * variance / most + PRIOR_TASKS) / (own + PRIOR_TASKS))


def _distance(line: dict) -> float | None:
    """The largest possible difference in mean reward between a trained policy and the base model.

    None: not known. A divergence of 0 means that it was not computed.
    """
    if line["kl"] <= 0 or "meanTokens" not in line:
        return None
    return math.sqrt(line["kl"] * line["meanTokens"] / 2)
