"""With verifiers (WHET_TEST_VERIFIERS names its Python): the preset's program, against vf-eval."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from driver import ROOT
from sums_model import SumsModel

PYTHON = Path(os.environ["WHET_TEST_VERIFIERS"])
TASKSETS = Path(__file__).with_name("tasksets")
TASKS = 5


@pytest.fixture
def model():
    server = SumsModel()
    yield server
    server.shutdown()


def variables(server, **more):
    path = os.pathsep.join([str(ROOT / "targets"), str(TASKSETS)])
    named = {"PATH": f"{PYTHON.parent}:{os.environ['PATH']}", "PYTHONPATH": path}
    return {**named, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-episode", "OPENAI_MODEL": "agent", **more}


def program(server, folder, seed, max_turns=20, **options):
    """Its result, or what it said when it failed."""
    folder.mkdir(exist_ok=True)
    task = json.dumps({"task_id": str(seed), "seed": seed, "model": "agent", "max_turns": max_turns})
    files = {"TASK_FILE": str(folder / "task.json"), "RESULT_FILE": str(folder / "result.json")}
    words = ["-m", "whetstone_process.presets.verifiers", "--taskset", "sums-v1", "--options", json.dumps(options)]
    ended = subprocess.run([PYTHON, *words], input=task, text=True, capture_output=True, env=variables(server, **files))
    return json.loads((folder / "result.json").read_text()) if ended.returncode == 0 else ended.stderr


def test_rewards_and_turns_are_those_of_its_own_runner(model, tmp_path):
    options = {
        "--env.agent.harness.id": "null",
        "--env.agent.runtime.type": "subprocess",
        "--client.base-url": model.url,
        "--client.api-key-var": "OPENAI_API_KEY",
        "--push": "False",
        "--output-dir": str(tmp_path / "own"),
        "-m": "agent",
        "-n": str(TASKS),
    }
    words = [word for option in options.items() for word in option]
    command = [PYTHON.with_name("vf-eval"), "sums-v1", *words]
    # It installs its chat program with uv, which needs what the shell says about registries.
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **variables(model)})
    [traces] = (tmp_path / "own").rglob("traces.jsonl")
    own = {}
    for line in traces.read_text().splitlines():
        [trace] = json.loads(line)["traces"]
        turns = sum(node["sampled"] for node in trace["nodes"])
        own[trace["task"]["data"]["idx"]] = (sum(reward["score"] for reward in trace["rewards"].values()), turns)
    assert own == {0: (1.0, 2), 1: (0.5, 2), 2: (0.0, 2), 3: (1.0, 1), 4: (0.5, 2)}
    for place, expected in own.items():
        model.requests.clear()
        result = program(model, tmp_path / str(place), place)
        assert (result["reward"], len(model.requests)) == expected
        assert result["finish"] == "done"
        assert model.requests[0]["tools"][0]["function"]["name"] == "sums_add"


def test_the_last_turn_ends_an_episode_which_is_scored(model, tmp_path):
    assert program(model, tmp_path, 0, max_turns=1) == {"reward": 0.0, "finish": "turn-limit"}
    assert len(model.requests) == 1


def test_a_task_that_there_is_not_fails_and_asks_nothing(model, tmp_path):
    assert "The taskset has 2 tasks, so there is no task 2." in program(model, tmp_path, 2, num_tasks=2)
    assert model.requests == []
