"""Advantages with a separate baseline for rollouts with hints."""

from __future__ import annotations

import torch

# TRL adds it to the standard deviation, so that equal rewards do not divide by zero.
EPSILON = 1e-4


def own_baselines(rewards: list[float], kinds: list[tuple[int, bool]], scaled: bool) -> torch.Tensor:
    """Advantages `[rollouts]`, each relative to the mean reward of its kind.

    The kind of a rollout is its group, and whether it saw hints. Advantages are computed as TRL does for whole groups:
    with `scaled`, divided by the standard deviation of the kind. The only rollout of a kind has the advantage 0.
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
