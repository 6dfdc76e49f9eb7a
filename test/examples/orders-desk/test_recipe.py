"""Tier: unit. The recipe of the demo's model: the same seed gives the same hash, however long the making took."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from whetstone.tree_hash import tree_sha256

DESK = Path(__file__).resolve().parents[3] / "examples" / "orders-desk"
MODULES = ("recipe", "corpus", "skills", "fit", "environment", "expert")


@pytest.fixture
def recipe(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(DESK))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import recipe

    yield recipe
    for name in MODULES:
        sys.modules.pop(name, None)


def test_a_slower_making_gives_the_same_hash(recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = recipe.Size(steps=40, batch=8, routing=0.1, hidden=24, layers=1, heads=2, inner=32, vocabulary=400)
    hashes = []
    for step in (1.0, 7.0):
        ticks = itertools.count(0.0, step)
        monkeypatch.setattr(recipe, "time", SimpleNamespace(perf_counter=lambda ticks=ticks: next(ticks)))
        target = tmp_path / f"model-{step}"
        recipe.build(size, 5, target, lambda *_: None)
        hashes.append(tree_sha256(target))
    assert hashes[0] == hashes[1]
