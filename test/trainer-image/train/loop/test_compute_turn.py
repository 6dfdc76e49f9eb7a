"""Tier: integration. What of an iteration runs while other trainings may compute."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.steps import open_trainer, take_step
from fixtures.trainer import FIXTURES
from whetstone.train.job import Algorithm, EnvironmentRef, ProbeTask, WatchedAgent
from whetstone.train.loop.rollouts import Rollouts
from whetstone.train.watch.watch import Watch


class PlayedTasks:
    """Agent's tasks that the rollouts of the training environment play."""

    def __init__(self, rollouts: Rollouts) -> None:
        self._rollouts = rollouts

    def play(self, tasks: list[ProbeTask], base: bool = False) -> tuple[list[bool], int]:
        episodes = self._rollouts.play_tasks([(task.seed, task.samplingSeed) for task in tasks], base)
        return [episode.reward >= 1 for episode in episodes], 0


def watch_letters(rollouts: Rollouts) -> Watch:
    tasks = [ProbeTask(seed, seed, None) for seed in range(4)]
    agent = WatchedAgent(EnvironmentRef("agent", "", ""), 1.0, 4, 12, 1.0, tasks, tasks, [])
    return Watch(Algorithm(), agent, PlayedTasks(rollouts), None)


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

    for name in ("collect", "play_tasks"):
        original = getattr(Rollouts, name)

        def seen(self, *arguments, name=name, original=original):
            order.append(name)
            return original(self, *arguments)

        monkeypatch.setattr(Rollouts, name, seen)
    with open_trainer(tiny_dir, tmp_path, [FIXTURES / "coach.py"]) as trainer:
        trainer._while_sampling = while_sampling
        take_step(trainer)
        assert trainer.seconds_waiting >= waited
        trainer.watch = watch_letters(trainer._rollouts)
        trainer.probe([0.5])
    assert order[:4] == ["others compute", "collect", "its turn", "others compute"]
    assert set(order[4:-1]) == {"play_tasks"} and order[-1] == "its turn"
