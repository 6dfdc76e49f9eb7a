"""The error of a training that cannot recover, and the rule for a reward that has collapsed."""

from __future__ import annotations

import math

# The smallest numbers of iterations and of tasks (groups) in a window.
WINDOW_ITERATIONS, WINDOW_TASKS = 10, 40
# If two windows differ by more standard errors than this, chance does not explain it.
STANDARD_ERRORS = 4.5


class Diverged(Exception):
    """Training cannot continue: loss, gradient or adapter are not finite, or policy or reward have collapsed."""


def window_iterations(groups: int, environments: int) -> int:
    """Number of iterations in a window: at least ten, with at least forty tasks and every environment at least once."""
    return max(WINDOW_ITERATIONS, math.ceil(WINDOW_TASKS / groups), math.ceil(environments / groups))


def check_reward(rewards: list[float], groups: int, environments: int, share: float) -> None:
    """Raises Diverged if the mean reward of the last window is below `share` of the best earlier window's.

    `rewards` `[iterations]` are the mean rewards so far, in [0, 1]. With `share` 0 it never raises. It also does not
    raise before there are two windows that do not overlap. In addition, the drop must exceed chance, which means 4.5
    standard errors. Two means p and q differ by `(2 asin sqrt p - 2 asin sqrt q) sqrt(n / 2)` standard errors (Cohen's
    h for proportions, 1988, chapter 6). Here n counts tasks rather than rollouts, since the rollouts of one task
    resemble each other.

    docs/measured.md has the rates of false alarms (`reward-collapse`).
    """
    width = window_iterations(groups, environments)
    if not share or len(rewards) < 2 * width:
        return
    # Rounding may put a mean above 1, where the arcsine ends.
    means = [min(1.0, sum(rewards[end - width : end]) / width) for end in range(width, len(rewards) + 1)]
    last = means[-1]
    start, best = max(enumerate(means[:-width]), key=lambda item: item[1])
    distance = 2 * (math.asin(math.sqrt(best)) - math.asin(math.sqrt(last))) * math.sqrt(width * groups / 2)
    if last >= share * best or distance <= STANDARD_ERRORS:
        return
    raise Diverged(
        f"the reward has collapsed: its mean is {last:.3f} over iterations {len(rewards) - width + 1} to {len(rewards)}"
        f" and was {best:.3f} over iterations {start + 1} to {start + width}; lower the learning rate or raise klBeta,"
        " or set rewardCollapse to 0 to continue regardless"
    )
