"""Which of a rollout's own tokens the update learns from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TurnSpan:
    """The agent's tokens of one turn, `[start, end)` in the completion. `decides`: it calls a tool, or tries to."""

    start: int
    end: int
    decides: bool


def loss_mask(sampled: list[int], turns: list[TurnSpan], decisions_only: bool) -> list[int]:
    """`sampled` (1 for each token of the agent's own), with `decisions_only` without the turns that decide nothing.

    A rollout in which no turn decides keeps them all: otherwise nothing could be learned against it. A call that is
    begun and not well-formed counts as a decision, or nobody would learn to close it.
    """
    if not decisions_only or not any(turn.decides for turn in turns):
        return sampled
    mask = list(sampled)
    for turn in turns:
        if not turn.decides:
            mask[turn.start : turn.end] = [0] * (turn.end - turn.start)
    return mask
