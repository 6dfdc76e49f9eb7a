"""What one minibatch weighs in the loss of its step."""

from __future__ import annotations

# TRL divides these losses by the rollouts of what it gets, or by its tokens. The others it divides by the whole step's.
MEANS_OVER_ROLLOUTS, MEANS_OVER_TOKENS = frozenset({"grpo", "dr_grpo"}), frozenset({"bnpo"})


def part_weight(loss_type: str, part: dict, rollouts: int, tokens: int) -> float:
    """The factor with which the losses of minibatches add up to that of the step.

    `part` are the minibatch's tensors, `rollouts` and `tokens` the sizes of the whole step.
    """
    if loss_type in MEANS_OVER_ROLLOUTS:
        return len(part["completion_ids"]) / rollouts
    if loss_type in MEANS_OVER_TOKENS:
        return int((part["completion_mask"] * part["tool_mask"]).sum()) / max(1, tokens)
    return 1.0
