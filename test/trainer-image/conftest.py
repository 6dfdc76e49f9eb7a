"""Fixtures: a tokenizer and random small Llama checkpoints, made once per test session."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def tiny_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint directory: 2 layers, 4 heads, tied embeddings, chat template."""
    from fixtures.tiny_model import make_model

    return make_model(tmp_path_factory.mktemp("tiny"), kv_heads=4, tied=True)


@pytest.fixture(scope="session")
def grouped_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint with grouped-query attention and its own output matrix."""
    from fixtures.tiny_model import make_model

    return make_model(tmp_path_factory.mktemp("grouped"), kv_heads=2, tied=False)


@pytest.fixture(scope="session")
def adapter_dirs(tiny_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three PEFT LoRA directories of different ranks for the tiny model."""
    from fixtures.tiny_model import make_adapter

    root = tmp_path_factory.mktemp("adapters")
    kinds = (("a", 4, 1), ("b", 8, 2), ("c", 4, 3))
    return [make_adapter(tiny_dir, root / name, rank, seed) for name, rank, seed in kinds]
