"""Advantages with a baseline of their own for rollouts with hints."""

from __future__ import annotations

import torch

# TRL adds it to the standard deviation, so that equal rewards divide by something.
EPSILON = 1e-4


def own_baselines(rewards: list[float], kinds: list[tuple[int, bool]], scaled: bool) -> torch.Tensor:
    """Advantages `[rollouts]`, each from the mean of the rollouts of its kind (group, with hints or without).

    They are computed as TRL does for whole groups: with `scaled`, divided by the standard deviation of the kind. A
    rollout that is the only one of its kind has the advantage 0.
    """
    values = torch.tensor(rewards, dtype=torch.float32)
    advantages = torch.zeros_like(values)
    for kind in dict.fromkeys(kinds):
        rows = torch.tensor([row for row, other in enumerate(kinds) if other == kind])
        if len(rows) < 2:
            continue
        part = values[rows] - values[rows].mean()
        advantages[rows] = part / (values[rows].std() + EPSILON) if scaled else part
    return advantages
