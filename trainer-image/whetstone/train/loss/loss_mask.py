"""The loss mask: the agent's tokens in a rollout that the update learns from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TurnSpan:
    """The agent's tokens of one turn, `[start, end)` in the completion.

    `decides` says whether the turn calls a tool, or at least begins a call.
    """

    start: int
    end: int
    decides: bool


def loss_mask(sampled: list[int], turns: list[TurnSpan], decisions_only: bool) -> list[int]:
    """1 for each token that counts in the loss, `[completion]`.

    `sampled` `[completion]` is 1 for each of the agent's own tokens. With `decisions_only`, turns without a tool call
    do not count. A rollout without any call keeps its turns, since otherwise the update could never teach the model to
    act.
    """
    if not decisions_only or not any(turn.decides for turn in turns):
        return sampled
    mask = list(sampled)
    for turn in turns:
        if not turn.decides:
            mask[turn.start : turn.end] = [0] * (turn.end - turn.start)
    return mask
