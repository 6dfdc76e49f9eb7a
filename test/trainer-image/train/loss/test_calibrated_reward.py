"""Tier: integration. The stop of a training whose first rewards are not those of its calibration."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from threading import Event

import pytest
from fixtures.trainer import LETTERS, make_job, read_curve
from whetstone.train.job import TrainingJob, parse_job
from whetstone.train.job.exit_codes import ENVIRONMENT_DIFFERS
from whetstone.train.loop.run_to_exit_code import run_to_exit_code
from whetstone.train.loss.calibrated_reward import EnvironmentDiffers, check_calibrated
from whetstone.train.output.store import OutputStore

CALIBRATED = {"mean": 0.4, "tasks": 50, "standardError": 0.03, "betweenTasks": 0.03, "withinTask": 0.2}


def job_with(tmp_path: Path, calibrated: dict | None = CALIBRATED, **algorithm: object) -> TrainingJob:
    """A job of 4 groups of 4 rollouts with a warm-up."""
    options = {"groups": 4, "rolloutsPerGroup": 4, "iterations": 20, "warmupIterations": 2, **algorithm}
    raw = make_job(tmp_path, tmp_path / "out", **options)
    return parse_job(json.dumps(raw if calibrated is None else {**raw, "calibratedReward": calibrated}))


def curve(rewards: list[float], kl: float = 1e-6, norm: float = 0.1) -> list[dict]:
    """Progress lines with these mean rewards. The first two iterations are the base model's."""
    return [
        {
            "iteration": number,
            "reward": reward,
            "kl": 0.0 if number <= 2 else kl,
            "gradNorm": norm,
            "meanTokens": 100,
        }
        for number, reward in enumerate(rewards, 1)
    ]


def check_all(lines: list[dict], job: TrainingJob) -> None:
    for end in range(1, len(lines) + 1):
        check_calibrated(lines[:end], job)


@pytest.mark.parametrize(("reward", "shown"), [(1.0, "1.00"), (0.05, "0.05")])
def test_rewards_that_part_from_the_calibration_stop_the_training_with_both(
    reward: float, shown: str, tmp_path: Path
) -> None:
    words = rf"environment e0 pays {shown} at training seeds \(\d+ tasks\), 0.40 in calibration \(50 tasks\)"
    with pytest.raises(EnvironmentDiffers, match=words):
        check_all(curve([reward] * 10), job_with(tmp_path))


def test_fewer_than_twelve_tasks_are_too_few(tmp_path: Path) -> None:
    check_all(curve([1.0] * 2), job_with(tmp_path))
    with pytest.raises(EnvironmentDiffers):
        check_all(curve([1.0] * 3), job_with(tmp_path))


def test_what_chance_or_learning_explains_is_no_difference(tmp_path: Path) -> None:
    job = job_with(tmp_path)
    check_all(curve([0.4, 0.7, 0.2, 0.5, 0.3, 0.4, 0.6, 0.2, 0.4, 0.5]), job)
    # The policy has moved so far that it may earn what it does: the watch has ended.
    check_all(curve([0.4, 0.4] + [1.0] * 8, kl=2e-3), job)
    # After forty tasks nothing is compared any more.
    check_all(curve([0.4] * 10 + [1.0] * 30), job)


def test_an_iteration_whose_divergence_was_not_computed_counts_while_no_step_has_moved_the_policy(
    tmp_path: Path,
) -> None:
    check_all(curve([1.0] * 10, kl=0.0), job_with(tmp_path))
    with pytest.raises(EnvironmentDiffers):
        check_all(curve([1.0] * 10, kl=0.0, norm=0.0), job_with(tmp_path))


def test_a_policy_that_has_moved_is_granted_what_it_may_have_gained(tmp_path: Path) -> None:
    rewards = [0.72] * 10
    with pytest.raises(EnvironmentDiffers):
        check_all(curve(rewards), job_with(tmp_path))
    # sqrt(8e-4 * 100 / 2) = 0.2 in all iterations but the first two.
    check_all(curve(rewards, kl=8e-4), job_with(tmp_path))


def test_hinted_rollouts_do_not_count(tmp_path: Path) -> None:
    lines = curve([1.0] * 4)
    check_all(lines, job_with(tmp_path, hintShare=1))
    # With one rollout in sixteen by itself, four iterations have four tasks.
    check_all(lines, job_with(tmp_path, hintShare=0.9375))
    with pytest.raises(EnvironmentDiffers):
        check_all(lines, job_with(tmp_path, hintShare=0.25))


def test_nothing_is_compared_without_a_calibration_after_an_adapter_or_where_no_reward_stops(tmp_path: Path) -> None:
    lines = curve([1.0] * 10)
    check_all(lines, job_with(tmp_path, None))
    check_all(lines, job_with(tmp_path, rewardCollapse=0))
    served = {"name": "a", "version": 1, "key": "k", "sha256": "0" * 64, "path": "/x"}
    raw = {**make_job(tmp_path, tmp_path / "out"), "calibratedReward": CALIBRATED, "beginsFrom": served}
    check_all(lines, parse_job(json.dumps(raw)))


def test_the_calibration_is_no_part_of_the_hash(tmp_path: Path) -> None:
    job = job_with(tmp_path)
    assert job.calibratedReward is not None
    assert dataclasses.replace(job, calibratedReward=None).sha256 == job.sha256


def test_a_training_in_an_environment_that_pays_ends_with_its_code(tiny_dir: Path, tmp_path: Path) -> None:
    environment = tmp_path / "pays.py"
    reward = "\n    @staticmethod\n    def evaluate(trajectory, task):\n        return 1.0\n"
    environment.write_text(LETTERS.read_text() + reward)
    raw = make_job(tiny_dir, tmp_path / "out", [environment], groups=4, rolloutsPerGroup=2, warmupIterations=2)
    job = parse_job(json.dumps({**raw, "calibratedReward": CALIBRATED}))
    assert run_to_exit_code(OutputStore(job), Event(), time.perf_counter()) == ENVIRONMENT_DIFFERS
    failed = json.loads((tmp_path / "out" / "failure.json").read_text())
    assert failed["code"] == ENVIRONMENT_DIFFERS
    assert "environment e0 pays 1.00 at training seeds (12 tasks), 0.40 in calibration" in failed["message"]
    # No group teaches anything, so the policy stays the base model.
    assert len(read_curve(tmp_path / "out")) == 3
