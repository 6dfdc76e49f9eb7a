"""Tier: integration. What of an iteration runs while other trainings may compute."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.steps import open_trainer, take_step
from fixtures.trainer import FIXTURES
from whetstone.train.loop.rollouts import Rollouts


def test_rollouts_are_collected_while_others_compute(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    waited = 0.05

    @contextlib.contextmanager
    def while_sampling() -> Iterator[None]:
        order.append("others compute")
        yield
        time.sleep(waited)
        order.append("its turn")

    for name in ("collect", "validate"):
        original = getattr(Rollouts, name)

        def seen(self, *arguments, name=name, original=original):
            order.append(name)
            return original(self, *arguments)

        monkeypatch.setattr(Rollouts, name, seen)
    with open_trainer(tiny_dir, tmp_path, [FIXTURES / "coach.py"], validateEvery=1) as trainer:
        trainer._while_sampling = while_sampling
        take_step(trainer)
        assert trainer.seconds_waiting >= waited
        trainer.validate()
    assert order == ["others compute", "collect", "its turn", "others compute", "validate", "its turn"]
