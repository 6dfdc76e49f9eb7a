"""When a training is stopped because tasks that do not call for the capability are lost.

Only pairs with different outcomes say anything about a loss (McNemar, Psychometrika 12, 1947).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from .evidence import Pairs

# Chance that the bound of `proves` is passed without any loss, shared by a training's probes. Each looks twice: at its
# own pairs, and at these with those of the probe before. It does not bound what the last probe refuses, at PERSISTENCE:
# simulated with equal losses and gains of 3 to 15 % of the tasks, that is about 2 % too, because a loss also has to be
# larger than the margin.
FALSE_STOPS = 0.02
# A probe plays further tasks while a loss beyond the margin has at least this evidence, in standard errors.
SUSPICION = 0.6
# Least evidence of the latest probe's own pairs, in standard errors. The probe before cannot speak for them alone:
# what the first iterations break, later ones may mend.
PERSISTENCE = 1.645
NOTHING = Pairs()


def loss_evidence(pairs: Pairs) -> float:
    """Evidence that the adapter loses tasks, in standard errors; McNemar's statistic with one more pair."""
    return (pairs.lost - pairs.gained) / math.sqrt(pairs.lost + pairs.gained + 1)


def loss_bound(probes: int) -> float:
    """Evidence that is no chance in a training with so many probes (Bonferroni over its looks)."""
    return NormalDist().inv_cdf(1 - FALSE_STOPS / (2 * max(1, probes)))


@dataclass(frozen=True)
class LossRule:
    """Judges the other tasks of a probe, beside those of the probe before it."""

    margin: float
    """Largest share of the other tasks that may be lost."""
    probes: int
    """Probes of the whole training."""
    tasks: int
    """Number of other tasks. The pairs of two probes are added up only while no task counts twice."""

    def proves(self, pairs: Pairs, before: Pairs = NOTHING) -> bool:
        """Whether a loss beyond the margin is no chance, and the latest pairs show it by more than a few tasks."""
        bound = loss_bound(self.probes)
        return self._shows([pairs], PERSISTENCE) and self._shows(self._windows(pairs, before), bound)

    def seems(self, pairs: Pairs, before: Pairs = NOTHING) -> bool:
        """Whether further tasks should tell: a loss beyond the margin that may be chance."""
        return self._shows(self._windows(pairs, before), SUSPICION)

    def stops(self, pairs: Pairs, before: Pairs, *, is_last: bool) -> bool:
        """Whether the adapter is refused: two probes in a row lose, or all tasks of the last one do."""
        if is_last:
            return self.proves(pairs, before) or self._shows([pairs], PERSISTENCE)
        return self.proves(pairs, before) and self.seems(before)

    def needs_more(self, pairs: Pairs, before: Pairs) -> bool:
        """Whether further tasks should tell: they may be lost, or a probe before that seemed to lose played as many."""
        if self.proves(pairs, before):
            return False
        return self.seems(pairs, before) or (self.seems(before) and pairs.rollouts < before.rollouts)

    def _windows(self, pairs: Pairs, before: Pairs) -> list[Pairs]:
        both = before + pairs
        return [pairs, both] if both.rollouts <= self.tasks else [pairs]

    def _shows(self, windows: list[Pairs], evidence: float) -> bool:
        return any(-pairs.gain > self.margin and loss_evidence(pairs) >= evidence for pairs in windows)
