"""Tier: unit. The name of the base model in an adapter's configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from whetstone.train.output.result import repository


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/cache/hub/models--Qwen--Qwen3-4B/snapshots/1cfa9a7", ("Qwen/Qwen3-4B", "1cfa9a7")),
        ("/cache/hub/models--gpt2/snapshots/607a30d", ("gpt2", "607a30d")),
        ("/models/qwen3-4b", ("qwen3-4b", None)),
        ("/cache/models--Qwen--Qwen3-4B", ("models--Qwen--Qwen3-4B", None)),
    ],
)
def test_a_model_of_the_hub_is_named_by_repository_and_revision(path: str, expected: tuple[str, str | None]) -> None:
    assert repository(Path(path)) == expected
