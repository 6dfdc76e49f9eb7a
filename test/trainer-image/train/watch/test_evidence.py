"""Tier: unit. The statistics of probes: counts of pairs, and scores of checkpoints."""

from __future__ import annotations

import pytest
from whetstone.train.watch.evidence import Pairs, Score, clearly_better, pairs_of, score


def test_pairs_count_the_outcomes() -> None:
    pairs = pairs_of([(True, True), (True, False), (True, False), (False, True), (False, False)])
    assert pairs == Pairs(rollouts=5, passed=3, basePassed=2, lost=1)
    assert (pairs.gained, pairs.gain) == (2, 0.2)
    assert pairs + Pairs(5, 0, 5, 5) == Pairs(10, 3, 7, 6)
    assert (Pairs().gain, Pairs().variance) == (0, 0)


def test_a_score_counts_losses_of_other_tasks_and_not_their_gains() -> None:
    gained, lost, none = Pairs(10, 8, 2, 0), Pairs(10, 5, 10, 5), Pairs()
    assert score(gained, none).value == score(gained, Pairs(10, 10, 5, 0)).value == pytest.approx(0.6)
    assert score(gained, lost).value == pytest.approx(0.6 - 2 * 0.5)
    assert score(gained, lost).variance > score(gained, none).variance


def test_a_few_outcomes_make_no_checkpoint_clearly_better() -> None:
    one, other = (score(Pairs(8, passed, 2, 0), Pairs()) for passed in (8, 6))
    assert not clearly_better(one, other)
    assert clearly_better(one, Score(0.0, 0.0))
