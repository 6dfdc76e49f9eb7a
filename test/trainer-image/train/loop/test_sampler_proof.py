"""Tier: integration. A sampler that holds another adapter than the trainer's is named in the same iteration."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
import torch
from fixtures.trainer import make_job, read_curve
from whetstone.engine import Adapter
from whetstone.sampling import EngineSampler, Sample, SampleRequest, SamplerRefused, engine_sampler
from whetstone.train.job import parse_job
from whetstone.train.loop.run import run_job
from whetstone.train.output.store import OutputStore

Held = list[Adapter]


def copied(adapter: Adapter) -> Adapter:
    return Adapter(adapter.scale, {key: (a.clone(), b.clone()) for key, (a, b) in adapter.parts.items()})


def scaled(adapter: Adapter, factor: float) -> Adapter:
    return dataclasses.replace(adapter, scale=adapter.scale * factor)


def swapped(held: Held) -> Adapter:
    """The adapter of another training: as large, in another direction."""
    torch.manual_seed(9)
    parts = {
        key: (torch.randn_like(a) * a.std(), torch.randn_like(b) * b.std())
        for key, (a, b) in copied(held[-1]).parts.items()
    }
    return Adapter(held[-1].scale, parts)


def run(
    job: dict, first: int, fault: Callable[[Held], Adapter], monkeypatch: pytest.MonkeyPatch
) -> tuple[str | None, int]:
    """Trains with a sampler that is wrong from an iteration on. Returns why it was refused, and the lines before."""
    held: Held = []
    put = EngineSampler.put

    def wrong(self: EngineSampler, adapter: Adapter) -> str:
        held.append(copied(adapter))
        return put(self, adapter if len(held) < first else fault(held))

    monkeypatch.setattr(EngineSampler, "put", wrong)
    parsed = parse_job(json.dumps(job))
    try:
        run_job(parsed, OutputStore(parsed), Event(), time.perf_counter())
    except SamplerRefused as error:
        return str(error), len(read_curve(Path(job["outputDir"])))
    return None, len(read_curve(Path(job["outputDir"])))


@pytest.mark.parametrize(("first", "rate"), [(2, 1e-2), (5, 1e-2), (5, 1e-4)])
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (lambda held: scaled(held[-1], 0.0), "it ignores the adapter"),
        (swapped, "the sampler does not hold the adapter"),
        (lambda held: scaled(held[-1], 2.0), "it applies the adapter twice"),
        (lambda held: held[-2], "it still holds the adapter of the iteration before"),
        (lambda held: held[max(0, len(held) - 3)], "the sampler does not hold the adapter"),
        (lambda held: held[0], "the sampler does not hold the adapter"),
    ],
    ids=["drop", "swap", "double", "delay", "delay of two", "stale"],
)
def test_a_fault_is_named_in_its_first_iteration(
    first: int, fault, words: str, rate: float, tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_job(
        tiny_dir, tmp_path / "out", iterations=first, learningRate=rate, dropConstantGroups=False, klBeta=0.1
    )
    why, lines = run(job, first, fault, monkeypatch)
    assert lines == first - 1
    assert why is not None and f"of iteration {first}:" in why
    # Before the second iteration the adapter changes nothing.
    assert words in why or (first == 2 and "it ignores the adapter" in why)


@pytest.mark.parametrize("rate", [1e-1, 1e-5])
def test_a_sampler_without_fault_is_not_stopped(
    rate: float, tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"iterations": 12, "learningRate": rate, "temperature": 0.7, "rewardCollapse": 0.0, "maxKl": 1e6}
    assert run(make_job(tiny_dir, tmp_path / "out", **options), 1, lambda held: held[-1], monkeypatch) == (None, 12)


def sample_as_in_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine as a sampler whose log-probabilities are rounded, and where tokens are certain by less."""
    sample, noise, calls = EngineSampler.sample, torch.Generator().manual_seed(3), 0

    def rounded(self: EngineSampler, requests: list[SampleRequest]) -> list[Sample]:
        nonlocal calls
        size, calls = 0.05 if calls > 6 else 0.001, calls + 1
        return [
            dataclasses.replace(
                one, logprobs=(torch.tensor(one.proof) + size * torch.randn(len(one.proof), generator=noise)).tolist()
            )
            for one in sample(self, requests)
        ]

    monkeypatch.setattr(engine_sampler, "PROVEN", 1000)
    monkeypatch.setattr(EngineSampler, "sample", rounded)
    monkeypatch.setattr(EngineSampler, "reports_logprobs", True)


def test_rounding_in_bfloat16_is_no_fault(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample_as_in_bfloat16(monkeypatch)
    job = make_job(tiny_dir, tmp_path / "out", iterations=8, learningRate=1e-3)
    assert run(job, 1, lambda held: held[-1], monkeypatch) == (None, 8)


def test_a_fault_behind_the_rounding_of_bfloat16_is_named(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_as_in_bfloat16(monkeypatch)
    job = make_job(tiny_dir, tmp_path / "out", iterations=8, learningRate=0.05, dropConstantGroups=False, klBeta=0.1)
    why, lines = run(job, 5, lambda held: scaled(held[-1], 0.0), monkeypatch)
    assert lines == 4
    assert "it ignores the adapter" in (why or "")
