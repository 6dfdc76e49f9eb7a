"""Tier: unit. When a loss of other tasks stops a training, with outcomes that are drawn; no model plays."""

from __future__ import annotations

import random

import pytest
from whetstone.train.watch.evidence import Pairs, pairs_of
from whetstone.train.watch.loss_rule import LossRule, loss_bound, loss_evidence

# The defaults of agent.yaml, for a training of 40 iterations.
PORTION, MOST = 24, 120
RULE = LossRule(margin=0.05, probes=4, tasks=133)


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
    assert RULE.proves(pairs) is expected


def test_a_probe_cannot_be_proved_to_lose_by_the_probe_before() -> None:
    # Probes of a training of the venue desk. One task of twelve must not end it.
    before, latest = Pairs(120, 77, 91, 15), Pairs(12, 8, 9, 1)
    assert RULE.proves(before)
    assert not RULE.proves(latest, before)
    assert not RULE.stops(latest, before, is_last=False)
    assert RULE.seems(latest, before)
    assert RULE.stops(before, before, is_last=False)


def test_a_probe_after_one_that_seemed_to_lose_plays_as_many_tasks() -> None:
    # A few tasks without a loss do not acquit: in the venue desk one adapter lost 1 of 24 tasks, and 12 of 96 others.
    before, few = Pairs(120, 77, 91, 15), Pairs(24, 15, 16, 1)
    assert RULE.needs_more(few, before)
    assert not RULE.needs_more(Pairs(120, 91, 91, 0), before)
    assert not RULE.needs_more(few, Pairs(24, 18, 18, 0))


def test_all_portions_of_the_last_probe_decide() -> None:
    pairs = Pairs(120, 83, 91, 10)
    assert not RULE.proves(pairs)
    assert RULE.stops(pairs, Pairs(), is_last=True)
    assert not RULE.stops(pairs, Pairs(), is_last=False)


def test_the_pairs_of_two_probes_are_added_while_no_task_counts_twice() -> None:
    half = Pairs(24, 12, 18, 7)
    assert not RULE.proves(half) and RULE.proves(half, half)
    assert not LossRule(0.05, 4, tasks=40).proves(half, half)


def test_more_probes_need_more_evidence() -> None:
    assert loss_evidence(Pairs()) == 0
    assert loss_bound(1) == pytest.approx(2.326, abs=1e-3)
    assert loss_bound(4) == pytest.approx(2.807, abs=1e-3)


def stopped_at(rates: list[tuple[float, float]], draw: random.Random) -> int | None:
    """The number of the probe that stops a training with these shares of lost and gained tasks; None: none does."""
    before = Pairs()
    for number, (lost, gained) in enumerate(rates):
        pairs = Pairs()
        while True:
            chances = [draw.random() for _ in range(PORTION)]
            pairs += pairs_of([(not one < lost, not lost <= one < lost + gained) for one in chances])
            is_last = number + 1 == RULE.probes
            if not RULE.needs_more(pairs, before) or pairs.rollouts + PORTION > MOST:
                break
        if RULE.stops(pairs, before, is_last=is_last):
            return number
        before = pairs
    return None


@pytest.mark.parametrize(
    ("rates", "least", "most"),
    [
        # Of twenty good trainings at most one may be stopped.
        ([(0.03, 0.03)] * 4, 0.0, 0.03),
        ([(0.08, 0.08)] * 4, 0.0, 0.03),
        ([(0.15, 0.15)] * 4, 0.0, 0.03),
        # What the first iterations break, later ones mend.
        ([(0.13, 0.02), *[(0.03, 0.03)] * 3], 0.0, 0.03),
        ([(0.23, 0.03), *[(0.03, 0.03)] * 3], 0.0, 0.06),
        # A loss of 20 points, and of 30, is seen within two probes.
        ([(0.23, 0.03)] * 2, 0.88, 1.0),
        ([(0.33, 0.03)] * 2, 0.96, 1.0),
        ([(0.23, 0.03)] * 4, 0.98, 1.0),
        ([(0.12, 0.02)] * 4, 0.6, 1.0),
        # It begins late.
        ([(0.03, 0.03), (0.03, 0.03), (0.33, 0.03), (0.33, 0.03)], 0.97, 1.0),
    ],
)
def test_how_often_trainings_are_stopped(rates: list[tuple[float, float]], least: float, most: float) -> None:
    draw = random.Random(7)
    stopped = [stopped_at(rates, draw) for _ in range(1000)]
    assert least <= sum(one is not None for one in stopped) / len(stopped) <= most
