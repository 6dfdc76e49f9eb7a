"""Tier: jail. TRL's environment_factory: a jailed environment made here trains in plain TRL."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.calling_model import make_calling_model
from fixtures.trainer import ENVIRONMENT, FIXTURES
from transformers.utils import get_json_schema
from whetstone.envs.adapters.episodes import OVER
from whetstone.envs.adapters.trl import EnvironmentFactory

LEVER_BOX = FIXTURES / "lever_box.py"


@pytest.fixture
def factory():
    with EnvironmentFactory(LEVER_BOX) as opened:
        yield opened


def test_an_environment_made_here_trains_in_plain_trl_without_glue(tmp_path: Path, factory: EnvironmentFactory):
    model = make_calling_model(tmp_path / "model", [get_json_schema(factory().pull)])
    script = FIXTURES / "plain_trl_script.py"
    command = [sys.executable, str(script), str(model), str(LEVER_BOX), str(tmp_path / "output")]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    history = json.loads(done.stdout.splitlines()[-1])["history"]
    assert len(history) == 3
    rewards = [entry["rewards/lever_box/mean"] for entry in history]
    assert all(0 <= reward <= 1 for reward in rewards)
    # The levers were pulled, and pulling the right one paid.
    assert all(entry["tools/call_frequency"] > 0.2 for entry in history)
    assert all(entry["tools/failure_frequency"] == 0 for entry in history)
    assert 0 < sum(rewards) < len(rewards)
    assert any(entry["grad_norm"] > 0 for entry in history)


def test_the_tools_have_the_environments_schema(factory: EnvironmentFactory):
    assert get_json_schema(factory().pull)["function"] == {
        **factory.tools[0]["function"],
        "return": {"type": "string"},
    }


def test_rollouts_of_one_environment_do_not_disturb_each_other(factory: EnvironmentFactory):
    rows = factory.dataset(8)
    one, other = factory(), factory()
    asked = rows[0]["prompt"][0]["content"].removesuffix("!")
    one.reset(**rows[0])
    other.reset(**rows[0])
    assert one.pull(lever=asked) == "clunk"
    assert other.pull(lever="neither") == "clunk"
    assert one.pull(lever="left") == OVER
    assert (one.get_reward(), other.get_reward(), one.get_reward()) == (1.0, 0.0, 1.0)


def test_an_episode_in_which_the_environment_raises_earns_nothing_and_the_next_one_runs(factory: EnvironmentFactory):
    rows = factory.dataset(2)
    rollout = factory()
    rollout.reset(**rows[0])
    assert rollout.pull(lever="broken") == OVER
    assert rollout.get_reward() == 0.0
    rollout.reset(**rows[1])
    assert rollout.pull(lever=rows[1]["prompt"][0]["content"].removesuffix("!")) == "clunk"
    assert rollout.get_reward() == 1.0


def test_a_dataset_without_seeds_is_refused(factory: EnvironmentFactory):
    with pytest.raises(ValueError, match="EnvironmentFactory.dataset"):
        factory().reset(prompt="x")


def test_a_tool_with_a_name_of_trls_is_refused(tmp_path: Path):
    path = tmp_path / "environment.py"
    path.write_text(LEVER_BOX.read_text().replace('"name": "pull"', '"name": "reset"'))
    with pytest.raises(ValueError, match="keeps that name for itself"):
        EnvironmentFactory(path)
