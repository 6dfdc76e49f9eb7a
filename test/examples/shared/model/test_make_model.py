"""Tier: unit. Making a world's model: the same seed gives the same hash, however long the making took."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from types import SimpleNamespace

import make_model
import pytest
from whetstone.tree_hash import tree_sha256
from world import load_world

DESK = Path(__file__).resolve().parents[4] / "examples" / "orders-desk"
SIZE = make_model.Size(steps=40, batch=8, routing=0.1, hidden=24, layers=1, heads=2, inner=32, vocabulary=400)


def test_a_slower_making_gives_the_same_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = []
    for step in (1.0, 7.0):
        ticks = itertools.count(step, step)
        monkeypatch.setattr(make_model, "time", SimpleNamespace(perf_counter=lambda ticks=ticks: next(ticks)))
        target = tmp_path / f"model-{step}"
        make_model.build(load_world(DESK), SIZE, 5, target, lambda *_: None)
        hashes.append(tree_sha256(target))
    assert hashes[0] == hashes[1]


def test_only_what_the_model_depends_on_makes_another_model(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    shutil.copytree(DESK, folder, ignore=shutil.ignore_patterns("__pycache__"))

    def fingerprint(seed: int = 1) -> str:
        return make_model.fingerprint(load_world(folder), SIZE.routing, [seed])

    before = fingerprint()
    (folder / "notes.py").write_text("# of no concern\n")
    assert fingerprint() == before
    assert fingerprint(seed=2) != before
    with (folder / "expert.py").open("a") as expert:
        expert.write("# another expert\n")
    assert fingerprint() != before
