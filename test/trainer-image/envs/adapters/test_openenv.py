"""Tier: jail. OpenEnv both ways and verifiers' tasks, with their own packages in a Python of their own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from fixtures.peer_python import peer_python
from fixtures.trainer import ENVIRONMENT, FIXTURES
from whetstone.envs.adapters.episodes import TRAINING_SEEDS


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict:
    python = peer_python(FIXTURES.parent / "adapters-requirements.txt")
    command = [str(python), str(FIXTURES / "openenv_checks.py"), str(FIXTURES / "lever_box.py")]
    directory: Path = tmp_path_factory.mktemp("theirs")
    done = subprocess.run([*command, str(directory)], env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_an_environment_made_here_answers_openenvs_client_from_the_jail(seen: dict):
    right, wrong = seen["ours"]["episodes"]
    assert right == {"tools": ["pull", "finish"], "result": "clunk", "done": True, "reward": 1.0}
    assert wrong == {"tools": ["pull", "finish"], "result": "clunk", "done": True, "reward": 0.0}


def test_an_episode_that_the_agent_ends_with_text_earns_its_reward(seen: dict):
    assert seen["ours"]["finished"] == {"done": True, "reward": 0.5}


def test_a_task_that_is_asked_for_without_a_seed_is_one_to_train_on(seen: dict):
    assert seen["ours"]["unseeded"] >= TRAINING_SEEDS


def test_its_tasks_are_a_taskset_of_verifiers(seen: dict):
    assert seen["ours"]["verifiersTasks"] == [{"seed": 0}, {"seed": 1}, {"seed": 2}]


def test_an_openenv_environment_runs_in_our_runtime(seen: dict):
    assert seen["theirs"] == {
        "tools": ["guess"],
        "opening": "user",
        "observations": ["no", "yes"],
        "done": True,
        "reward": 1.0,
        "again": 0.0,
    }


def test_an_openenv_environment_is_closed_when_its_episode_is_over_replaced_or_left(seen: dict):
    assert seen["open"] == {"tools": 0, "replaced": 1, "done": 0, "left": 0, "evaluated": 0}
