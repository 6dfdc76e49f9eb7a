"""Tier: unit. Which tokens count in the loss."""

from __future__ import annotations

from whetstone.train.loss.loss_mask import TurnSpan, loss_mask


def test_turns_that_decide_nothing_are_left_out() -> None:
    sampled = [1, 1, 0, 1, 0, 1, 1]
    turns = [TurnSpan(0, 2, False), TurnSpan(3, 4, True), TurnSpan(5, 7, False)]
    assert loss_mask(sampled, turns, False) is sampled
    assert loss_mask(sampled, turns, True) == [0, 0, 0, 1, 0, 0, 0]
    silent = [TurnSpan(turn.start, turn.end, False) for turn in turns]
    assert loss_mask(sampled, silent, True) == sampled
