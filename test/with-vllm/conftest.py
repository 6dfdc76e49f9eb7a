"""Fixtures: a tiny Llama, and one vLLM server with it for the whole session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.tiny_model import make_model
from vllm_process import VllmProcess


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose attention heads are as wide as vLLM wants them on a processor."""
    return make_model(tmp_path_factory.mktemp("model"), kv_heads=1, tied=True, heads=2, positions=1024)


@pytest.fixture(scope="session")
def incomplete(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmProcess]:
    """A server without adapters, whose log-probabilities are those before the temperature. Not ready yet."""
    log = tmp_path_factory.mktemp("incomplete") / "vllm.log"
    with VllmProcess(model, log, adapters=False) as process:
        yield process


@pytest.fixture(scope="session")
def url(model: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[str]:
    """Address of a server as `whet up` starts it, for adapters of rank 8, one at a time in a batch.

    WHET_TEST_VLLM_URL names one that runs already, with the same model: a start takes a minute or more.
    """
    if running := os.environ.get("WHET_TEST_VLLM_URL"):
        yield running
        return
    # Both start side by side.
    if any("incomplete" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("incomplete")
    log = tmp_path_factory.mktemp("vllm") / "vllm.log"
    with VllmProcess(model, log) as process:
        process.wait()
        yield process.url
