"""Tier: integration. The training loop in this process: mixed environments, constant groups, faults, TRL's forward."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from threading import Event

import pytest
import torch
from fixtures.trainer import LETTERS, make_job, read_curve
from whetstone.engine import Weights
from whetstone.train.job import parse_job
from whetstone.train.loop.rollouts import EnvironmentFailed, Rollouts
from whetstone.train.loop.run import run_job
from whetstone.train.loss.divergence import Diverged
from whetstone.train.loss.prefix_tree import PrefixTreePolicy
from whetstone.train.output.store import OutputStore

RAISES = "\n    def step(self, call):\n        raise KeyError('lost')\n\n    say = step\n"
CONSTANT = "\n    @staticmethod\n    def evaluate(trajectory, task):\n        return 0.5\n"


def run(job: dict) -> Path:
    parsed = parse_job(json.dumps(job))
    assert run_job(parsed, OutputStore(parsed), Event(), time.perf_counter())
    return Path(job["outputDir"])


def variant(directory: Path, name: str, extra: str) -> Path:
    """The letters environment with a method replaced."""
    path = directory / f"{name}.py"
    path.write_text(LETTERS.read_text() + extra)
    return path


def test_mixed_environments_take_turns(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    collect = Rollouts.collect

    def recorded(self, iteration: int):
        found = collect(self, iteration)
        seen.append([(episode.environment, episode.task_seed) for episode in found.episodes])
        return found

    monkeypatch.setattr(Rollouts, "collect", recorded)
    environments = [LETTERS, variant(tmp_path, "other", "")]
    output = run(make_job(tiny_dir, tmp_path / "out", environments, iterations=2, groups=3, rolloutsPerGroup=2))
    assert seen == [
        [(0, 100), (0, 100), (1, 101), (1, 101), (0, 102), (0, 102)],
        [(1, 103), (1, 103), (0, 104), (0, 104), (1, 105), (1, 105)],
    ]
    assert len(json.loads((output / "manifest.json").read_text())["environmentSha256"]) == 2


def test_groups_without_a_difference_leave_the_adapter_alone(tiny_dir: Path, tmp_path: Path) -> None:
    environment = variant(tmp_path, "constant", CONSTANT)
    output = run(make_job(tiny_dir, tmp_path / "out", [environment], iterations=2))
    assert [(line["loss"], line["kl"], line["gradNorm"]) for line in read_curve(output)] == [(0, 0, 0)] * 2


@pytest.mark.parametrize(
    ("environment", "options", "why"),
    [
        (CONSTANT, {}, "in 2 iterations all rollouts of a task earned the same .mean 0.50."),
        (CONSTANT, {"dropConstantGroups": False}, "all rollouts of a task earned the same"),
        (CONSTANT, {"dropConstantGroups": False, "klBeta": 0.1}, "all rollouts of a task earned the same"),
        (CONSTANT, {"resampleGroups": 2}, "all rollouts of a task earned the same"),
        ("", {"maxCompletionTokens": 2, "maskTruncated": True}, "every rollout was cut, .*maxCompletionTokens"),
        ("", {"learningRate": 1e-12}, "the adapter changes nothing of the base model: raise training.learningRate"),
    ],
)
def test_a_training_that_learned_nothing_says_so_in_its_manifest(
    environment: str, options: dict, why: str, tiny_dir: Path, tmp_path: Path
) -> None:
    path = variant(tmp_path, "environment", environment)
    output = run(make_job(tiny_dir, tmp_path / "out", [path], iterations=2, **options))
    assert re.search(why, json.loads((output / "manifest.json").read_text())["nothingLearned"])


def test_a_training_that_learned_something_has_no_reason_in_its_manifest(tiny_dir: Path, tmp_path: Path) -> None:
    output = run(make_job(tiny_dir, tmp_path / "out", iterations=2))
    assert "nothingLearned" not in json.loads((output / "manifest.json").read_text())
    assert all(0 < line["taughtShare"] <= 1 and 0 < line["callVariety"] <= 1 for line in read_curve(output))


@pytest.mark.parametrize("reward", [0.5, 1.0])
def test_a_training_that_ends_at_one_partial_reward_says_so(reward: float, tiny_dir: Path, tmp_path: Path) -> None:
    lines = [
        "",
        "    plain = evaluate",
        "",
        "    @staticmethod",
        "    def evaluate(trajectory, task):",
        f"        return Environment.plain(trajectory, task) if task['early'] else {reward}",
        "",
        "    letters = generate_task",
        "",
        "    @staticmethod",
        "    def generate_task(seed):",
        "        return {**Environment.letters(seed), 'early': seed < 108}",
        "",
    ]
    path = variant(tmp_path, "safe", "\n".join(lines))
    output = run(make_job(tiny_dir, tmp_path / "out", [path], iterations=12, groups=4, rolloutsPerGroup=2))
    manifest = json.loads((output / "manifest.json").read_text())
    assert "nothingLearned" not in manifest
    assert manifest.get("partialReward") == (reward if reward < 1 else None)


def test_prefix_tree_steps_equal_those_of_trl(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = read_curve(run(make_job(tiny_dir, tmp_path / "tree", iterations=3, temperature=0.8)))
    monkeypatch.setattr(Weights.__init__, "__defaults__", ("cpu", 0))
    plain = read_curve(run(make_job(tiny_dir, tmp_path / "plain", iterations=3, temperature=0.8)))
    for ours, theirs in zip(tree, plain, strict=True):
        assert ours["reward"] == theirs["reward"]
        assert ours["loss"] == pytest.approx(theirs["loss"], abs=1e-4)
        assert ours["kl"] == pytest.approx(theirs["kl"], rel=1e-2, abs=1e-4)
        assert ours["gradNorm"] == pytest.approx(theirs["gradNorm"], rel=1e-2)


def test_environment_that_raises_stops_the_job(tiny_dir: Path, tmp_path: Path) -> None:
    environment = variant(tmp_path, "raises", RAISES)
    with pytest.raises(EnvironmentFailed, match="8 of 8 rollouts .* 'lost'"):
        run(make_job(tiny_dir, tmp_path / "out", [environment]))


@pytest.mark.parametrize(("value", "words"), [(torch.nan, "the loss is nan"), (-60.0, "collapsed")])
def test_divergence_is_named(
    value: float, words: str, tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logprobs = PrefixTreePolicy.logprobs
    monkeypatch.setattr(
        PrefixTreePolicy, "logprobs", lambda self, *args, adapted: logprobs(self, *args, adapted) + value * adapted
    )
    with pytest.raises(Diverged, match=words):
        run(make_job(tiny_dir, tmp_path / "out"))
