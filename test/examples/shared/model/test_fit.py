"""Tier: unit. Training of a world's model from scratch: the same seed gives the same bytes with several threads."""

from __future__ import annotations

import random
from collections.abc import Iterator

import fit
import pytest
import torch


@pytest.fixture
def two_threads() -> Iterator[None]:
    """With one thread the order of a sum cannot differ."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


def trained(seed: int) -> list[torch.Tensor]:
    """Parameters after 16 steps, on transcripts that are long enough for every kernel to use its threads."""
    rng = random.Random(7)
    examples = [
        ([rng.randrange(50) for _ in range(n)], [True] * n) for n in (rng.randint(150, 250) for _ in range(160))
    ]
    torch.manual_seed(seed)
    model = fit.Llama(fit.Shape(hidden=96, layers=2, heads=3, inner=128), 50)
    fit.train(model, examples, fit.Schedule(steps=16, batch=8), seed, lambda step, loss: None)
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.mark.usefixtures("two_threads")
def test_the_same_seed_gives_the_same_model() -> None:
    first, again, other = trained(1), trained(1), trained(2)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))
