"""Tier: unit. The statistics of probes, with outcomes that are drawn; no model plays."""

from __future__ import annotations

import random

import pytest
from whetstone.train.watch.evidence import (
    Pairs,
    Score,
    clearly_better,
    loses,
    loss_bound,
    loss_evidence,
    pairs_of,
    score,
    seems_to_lose,
)

PROBES, PORTION, MOST, MARGIN = 4, 12, 120, 0.05


def test_pairs_count_the_outcomes() -> None:
    pairs = pairs_of([(True, True), (True, False), (True, False), (False, True), (False, False)])
    assert pairs == Pairs(rollouts=5, passed=3, basePassed=2, lost=1)
    assert (pairs.gained, pairs.gain) == (2, 0.2)
    assert pairs + Pairs(5, 0, 5, 5) == Pairs(10, 3, 7, 6)
    assert (Pairs().gain, Pairs().variance, loss_evidence(Pairs())) == (0, 0, 0)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (Pairs(12, 6, 12, 6), False),
        (Pairs(24, 12, 24, 12), True),
        # As many gained as lost.
        (Pairs(48, 24, 24, 12), False),
        # No chance, but below the margin.
        (Pairs(400, 381, 400, 19), False),
        (Pairs(400, 379, 400, 21), True),
    ],
)
def test_a_loss_is_beyond_margin_and_chance(pairs: Pairs, expected: bool) -> None:
    assert loses([Pairs(), pairs], MARGIN, PROBES) is expected


def test_more_probes_need_more_evidence() -> None:
    assert loss_bound(1) == pytest.approx(2.326, abs=1e-3)
    assert loss_bound(4) == pytest.approx(2.807, abs=1e-3)


def drawn(rates: list[tuple[float, float]], draw: random.Random) -> int | None:
    """The number of the probe that stops a training with these shares of lost and gained tasks; None: none does."""
    before = Pairs()
    for number, (lost, gained) in enumerate(rates):
        pairs = Pairs()
        while True:
            chances = [draw.random() for _ in range(PORTION)]
            pairs += pairs_of([(not one < lost, not lost <= one < lost + gained) for one in chances])
            windows = [pairs, before + pairs]
            if loses(windows, MARGIN, PROBES):
                return number
            if not seems_to_lose(windows, MARGIN) or pairs.rollouts + PORTION > MOST:
                break
        before = pairs
    return None


@pytest.mark.parametrize(
    ("rates", "within", "least", "most"),
    [
        # Of twenty good trainings at most one may be stopped.
        ([(0.03, 0.03)] * 4, 4, 0.0, 0.03),
        ([(0.08, 0.08)] * 4, 4, 0.0, 0.03),
        ([(0.15, 0.15)] * 4, 4, 0.0, 0.03),
        # A loss of 20 points, and of 30, is seen within two probes.
        ([(0.23, 0.03)] * 2, 2, 0.92, 1.0),
        ([(0.33, 0.03)] * 2, 2, 0.97, 1.0),
        # It begins late.
        ([(0.03, 0.03), (0.03, 0.03), (0.33, 0.03), (0.33, 0.03)], 4, 0.97, 1.0),
    ],
)
def test_how_often_trainings_are_stopped(
    rates: list[tuple[float, float]], within: int, least: float, most: float
) -> None:
    draw = random.Random(7)
    stopped = [drawn(rates, draw) for _ in range(1000)]
    assert least <= sum(one is not None and one < within for one in stopped) / len(stopped) <= most


def test_a_score_counts_losses_of_other_tasks_and_not_their_gains() -> None:
    gained, lost, none = Pairs(10, 8, 2, 0), Pairs(10, 5, 10, 5), Pairs()
    assert score(gained, none).value == score(gained, Pairs(10, 10, 5, 0)).value == pytest.approx(0.6)
    assert score(gained, lost).value == pytest.approx(0.6 - 2 * 0.5)
    assert score(gained, lost).variance > score(gained, none).variance


def test_a_few_outcomes_make_no_checkpoint_clearly_better() -> None:
    one, other = (score(Pairs(8, passed, 2, 0), Pairs()) for passed in (8, 6))
    assert not clearly_better(one, other)
    assert clearly_better(one, Score(0.0, 0.0))
