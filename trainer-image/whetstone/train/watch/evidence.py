"""The statistics of probes: paired outcomes, and the comparison of two checkpoints.

A pair is one task with one sampling seed, played by the base model and by the adapter. Only pairs with different
outcomes say anything about a difference (McNemar, Psychometrika 12, 1947).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# An earlier checkpoint replaces a later one only if its score is higher by so many standard errors.
CLEARLY = 1.645
# A loss of the other tasks counts as much as so many gains of the target.
LOSS_WEIGHT = 2.0


@dataclass(frozen=True)
class Pairs:
    """Counts of pairs: `passed` by the adapter, `basePassed` by the base model, `lost` by the adapter alone."""

    rollouts: int = 0
    passed: int = 0
    basePassed: int = 0
    lost: int = 0

    @property
    def gained(self) -> int:
        """Pairs that only the adapter passed."""
        return self.passed - self.basePassed + self.lost

    @property
    def gain(self) -> float:
        """The adapter's pass rate minus the base model's; 0 without pairs."""
        return (self.passed - self.basePassed) / self.rollouts if self.rollouts else 0.0

    @property
    def variance(self) -> float:
        """Variance of `gain`; one pair of each kind is added, so that a few equal outcomes do not look certain."""
        if not self.rollouts:
            return 0.0
        return ((self.gained + self.lost + 2) / (self.rollouts + 2) - self.gain**2) / self.rollouts

    def __add__(self, other: Pairs) -> Pairs:
        return Pairs(
            self.rollouts + other.rollouts,
            self.passed + other.passed,
            self.basePassed + other.basePassed,
            self.lost + other.lost,
        )


def pairs_of(outcomes: list[tuple[bool, bool]]) -> Pairs:
    """Counts of outcomes, each given as (adapter passed, base model passed)."""
    return Pairs(
        len(outcomes),
        sum(own for own, _ in outcomes),
        sum(base for _, base in outcomes),
        sum(base and not own for own, base in outcomes),
    )


@dataclass(frozen=True)
class Score:
    """How good a checkpoint is: the target's gain, less the weighted loss of the other tasks."""

    value: float
    variance: float


def score(called_for: Pairs, others: Pairs, loss_weight: float = LOSS_WEIGHT) -> Score:
    """The score of a checkpoint. The base model's is 0. A gain of the other tasks does not count."""
    loses_others = others.gain < 0
    value = called_for.gain + (loss_weight * others.gain if loses_others else 0.0)
    return Score(value, called_for.variance + (loss_weight**2 * others.variance if loses_others else 0.0))


def clearly_better(one: Score, other: Score) -> bool:
    """Whether the first checkpoint is better than the second by more than chance."""
    return one.value - other.value > CLEARLY * math.sqrt(one.variance + other.variance)
