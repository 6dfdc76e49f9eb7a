"""Tier: integration. The stop on a collapsed reward."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from threading import Event

import pytest
from fixtures.trainer import LETTERS, make_job, read_curve
from whetstone.train.job import parse_job
from whetstone.train.loop.run import run_job
from whetstone.train.loss.divergence import Diverged, check_reward, window_iterations
from whetstone.train.output.store import OutputStore


def noisy(rng: random.Random, mean: float, iterations: int) -> list[float]:
    """Mean rewards of 4 groups of 4 rollouts. A success rate is drawn for each task, so that its rollouts agree."""

    def draw() -> float:
        return rng.betavariate(mean, 1 - mean) if 0 < mean < 1 else mean

    groups = [
        [sum(rng.random() < rate for _ in range(4)) / 4 for rate in [draw() for _ in range(4)]]
        for _ in range(iterations)
    ]
    return [sum(group) / 4 for group in groups]


def test_windows_see_forty_tasks_and_every_environment() -> None:
    assert [window_iterations(*case) for case in ((4, 1), (64, 1), (1, 1), (4, 100))] == [10, 10, 40, 25]


def test_noise_and_learning_are_not_a_collapse() -> None:
    rng = random.Random(1)
    for mean in (0.05, 0.2, 0.5, 0.9, 1.0):
        for _ in range(40):
            curve = noisy(rng, mean, 40)
            for end in range(1, 41):
                check_reward(curve[:end], 4, 1, 0.5)
    check_reward([place / 40 for place in range(40)], 4, 1, 0.5)
    check_reward([0.6] * 20 + [0.35] * 20, 4, 1, 0.5)


@pytest.mark.parametrize("mean", [0.4, 0.6, 1.0])
def test_a_reward_that_is_gone_stops_the_run_with_its_numbers(mean: float) -> None:
    curve = noisy(random.Random(2), mean, 20) + [0.0] * 10
    with pytest.raises(
        Diverged, match=r"collapsed: its mean is 0.000 over iterations 21 to 30 and was .* rewardCollapse to 0"
    ):
        check_reward(curve, 4, 1, 0.5)
    check_reward(curve, 4, 1, 0.0)


def test_a_run_whose_reward_collapses_stops_there(tiny_dir: Path, tmp_path: Path) -> None:
    environment = tmp_path / "collapses.py"
    task = (
        "\n    @staticmethod\n    def generate_task(seed):\n        return {'letter': 'e', 'item': '1', 'seed': seed}\n"
    )
    reward = "\n    @staticmethod\n    def evaluate(trajectory, task):\n        return float(task['seed'] < 140)\n"
    environment.write_text(LETTERS.read_text().replace("LIMIT = 3", "LIMIT = 1") + task + reward)
    algorithm = {"groups": 4, "rolloutsPerGroup": 2, "iterations": 30, "maxCompletionTokens": 1}
    job = parse_job(json.dumps(make_job(tiny_dir, tmp_path / "out", [environment], **algorithm)))
    with pytest.raises(Diverged, match="mean is 0.000 over iterations 11 to 20 and was 1.000 over iterations 1 to 10"):
        run_job(job, OutputStore(job), Event(), time.perf_counter())
    assert len(read_curve(tmp_path / "out")) == 20
    assert not (tmp_path / "out" / "manifest.json").exists()
