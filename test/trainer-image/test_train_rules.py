"""Tier: integration. Pure rules of the update (loss mask, minibatches) and the stop on a collapsed reward."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from threading import Event

import pytest
import torch
from fixtures.trainer import LETTERS, make_job, read_curve
from whetstone.train.collapse import Diverged, check_reward, window_iterations
from whetstone.train.decisions import TurnSpan, loss_mask
from whetstone.train.job import parse_job
from whetstone.train.minibatches import minibatches, token_mean
from whetstone.train.run import run_job
from whetstone.train.store import OutputStore


def noisy(rng: random.Random, mean: float, iterations: int) -> list[float]:
    """Mean rewards of 4 groups of 4 with 0/1 rewards; a task's own success rate is drawn, so that its rollouts agree."""

    def draw() -> float:
        return rng.betavariate(mean, 1 - mean) if 0 < mean < 1 else mean

    groups = [
        [sum(rng.random() < rate for _ in range(4)) / 4 for rate in [draw() for _ in range(4)]]
        for _ in range(iterations)
    ]
    return [sum(group) / 4 for group in groups]


def test_turns_that_decide_nothing_are_left_out() -> None:
    sampled = [1, 1, 0, 1, 0, 1, 1]
    turns = [TurnSpan(0, 2, False), TurnSpan(3, 4, True), TurnSpan(5, 7, False)]
    assert loss_mask(sampled, turns, False) is sampled
    assert loss_mask(sampled, turns, True) == [0, 0, 0, 1, 0, 0, 0]
    silent = [TurnSpan(turn.start, turn.end, False) for turn in turns]
    assert loss_mask(sampled, silent, True) == sampled


def make_inputs(prompts: list[int], completions: list[int]) -> dict:
    """Padded as TRL pads; every token of row r is r + 1."""
    ids = {"prompt_ids": [], "prompt_mask": [], "completion_ids": [], "completion_mask": []}
    for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        left, right = max(prompts) - prompt, max(completions) - completion
        ids["prompt_ids"].append([0] * left + [row + 1] * prompt)
        ids["prompt_mask"].append([0] * left + [1] * prompt)
        ids["completion_ids"].append([row + 1] * completion + [0] * right)
        ids["completion_mask"].append([1] * completion + [0] * right)
    tensors = {key: torch.tensor(value) for key, value in ids.items()}
    rows = torch.arange(len(prompts), dtype=torch.float32)
    return tensors | {
        "tool_mask": tensors["completion_mask"],
        "advantages": rows,
        "num_items_in_batch": torch.tensor(9),
    }


def test_minibatches_hold_the_longest_first_and_no_padding_of_others() -> None:
    inputs = make_inputs([3, 2, 5, 2], [4, 1, 20, 2])
    parts = minibatches(inputs, 13)
    assert [part["advantages"].tolist() for part in parts] == [[2.0], [0.0], [3.0, 1.0]]
    assert [tuple(part["prompt_ids"].shape) for part in parts] == [(1, 5), (1, 3), (2, 2)]
    assert parts[2]["completion_ids"].tolist() == [[4, 4], [2, 0]]
    assert parts[1]["prompt_ids"].tolist() == [[1, 1, 1]]
    assert all(part["num_items_in_batch"] == 9 for part in parts)
    assert minibatches(inputs, 0) == [inputs]
    assert token_mean([1.0, 2.0, 4.0], parts) == pytest.approx((20 * 1 + 4 * 2 + 3 * 4) / 27)
    assert token_mean([0.3], parts) == 0.3
    assert token_mean([], []) == 0.0


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
