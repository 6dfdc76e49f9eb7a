"""Counter-based sampling: a request's token at step t depends only on its seed, on t and on its own logits."""

from __future__ import annotations

import numpy as np
import torch

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def _mix(z: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniforms(seed: int, count: int, start: int = 0) -> np.ndarray:
    """Uniform numbers in [0, 1) for steps `start .. start + count` of a request, float64 `[count]`."""
    with np.errstate(over="ignore"):
        key = _mix(np.uint64(seed & 0xFFFFFFFFFFFFFFFF) + _GOLDEN)
        steps = np.arange(start + 1, start + count + 1, dtype=np.uint64)
        bits = _mix(key + steps * _GOLDEN)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def pick_tokens(logits: torch.Tensor, temperature: list[float], uniform: list[float]) -> torch.Tensor:
    """Next token of each row, `[rows]`: the inverse of the cumulative distribution in float64; argmax at temperature 0.

    Every row is computed from its own logits alone, so the batch's composition does not change it.
    """
    greedy = [t == 0 for t in temperature]
    if all(greedy):
        return logits.argmax(-1)
    if any(t != 1 for t in temperature):
        scale = torch.tensor([t or 1.0 for t in temperature], device=logits.device)
        scaled = logits / scale[:, None]
    else:
        scaled = logits
    cumulative = torch.softmax(scaled, -1).cumsum(-1, dtype=torch.float64)
    target = torch.tensor(uniform, dtype=torch.float64, device=logits.device)[:, None] * cumulative[:, -1:]
    tokens = torch.searchsorted(cumulative, target, right=True)[:, 0].clamp_(max=logits.shape[1] - 1)
    if any(greedy):
        tokens = torch.where(torch.tensor(greedy, device=logits.device), logits.argmax(-1), tokens)
    return tokens
