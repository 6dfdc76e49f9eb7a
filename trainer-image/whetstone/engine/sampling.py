"""Counter-based sampling: a request's token at step t depends only on its seed, on t and on its own logits."""

from __future__ import annotations

import numpy as np
import torch

# Below this temperature the most likely token is taken: dividing logits by less may overflow float32, or the
# temperature itself may round to 0. vLLM has the same limit.
GREEDY_BELOW = 1e-5
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
    """Next token of each row, `[rows]`: the inverse of the cumulative distribution in float64.

    Below the temperature GREEDY_BELOW it is the argmax. Every row is computed only from its own logits, so the rest of
    the batch does not change it. The token of a row with NaN or infinity is meaningless: see `broken_rows`.
    """
    greedy = [t < GREEDY_BELOW for t in temperature]
    if all(greedy):
        return logits.argmax(-1)
    if any(t != 1 for t in temperature):
        scale = torch.tensor([1.0 if t < GREEDY_BELOW else t for t in temperature], device=logits.device)
        scaled = logits / scale[:, None]
    else:
        scaled = logits
    cumulative = torch.softmax(scaled, -1).cumsum(-1, dtype=torch.float64)
    target = torch.tensor(uniform, dtype=torch.float64, device=logits.device)[:, None] * cumulative[:, -1:]
    tokens = torch.searchsorted(cumulative, target, right=True)[:, 0].clamp_(max=logits.shape[1] - 1)
    if any(greedy):
        tokens = torch.where(torch.tensor(greedy, device=logits.device), logits.argmax(-1), tokens)
    return tokens


def broken_rows(logits: torch.Tensor) -> list[int]:
    """Rows with NaN or infinity, or with only minus infinity, from which no token can be sampled."""
    finite = torch.isfinite(logits.amax(-1))
    return [] if bool(finite.all()) else torch.nonzero(~finite)[:, 0].tolist()
