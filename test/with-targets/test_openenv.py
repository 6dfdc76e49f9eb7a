"""With openenv (WHET_TEST_OPENENV names its Python): the preset, and a server of OpenEnv."""

import json
import os
import random
import socket
import subprocess
import time
from pathlib import Path

import pytest
from driver import Driver

PYTHON = os.environ["WHET_TEST_OPENENV"]


@pytest.fixture(scope="module")
def server():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    process = subprocess.Popen([PYTHON, Path(__file__).with_name("guess_server.py"), str(port)])
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.2)
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture
def openenv(server):
    driver = Driver("-m", "whetstone_process.presets.openenv", "--url", server, python=PYTHON)
    yield driver
    driver.close()


def act(openenv, number, name="e"):
    return openenv.ask("step", episode=name, calls=[{"name": "act", "arguments": {"number": number}}])


def test_an_action_is_a_tool(openenv):
    [tool] = openenv.ask("describe")["tools"]
    assert tool["function"]["parameters"]["properties"] == {"number": {"title": "Number", "type": "integer"}}


def test_64_sessions_at_once_earn_the_rewards_of_the_server(openenv):
    for answer in [openenv.send("reset", episode=f"e{seed}", seed=seed) for seed in range(64)]:
        assert answer()["result"]["messages"] == [{"role": "user", "content": "Guess my number, 0 to 9."}]
    for seed in range(64):
        number = random.Random(seed).randrange(10)
        if seed % 2 == 0:
            assert act(openenv, number, f"e{seed}") == {"observations": ["Right."], "done": True}
    rewards = [openenv.ask("evaluate", episode=f"e{seed}")["reward"] for seed in range(64)]
    assert rewards == [1.0, 0.0] * 32


def test_rewards_and_turns_are_those_of_its_own_client(openenv, server):
    games = [(seed, [(seed * 3 + guess) % 10 for guess in range(7)]) for seed in range(20)]
    script = Path(__file__).with_name("guess_client.py")
    own = subprocess.run([PYTHON, script, server, json.dumps(games)], capture_output=True, text=True, check=True)
    played = [json.loads(line) for line in own.stdout.splitlines()]
    # Some games are won, some are over after five guesses.
    assert {(game["rewards"][-1], len(game["rewards"])) for game in played} >= {(1.0, 1), (0.0, 5)}
    for (seed, guesses), game in zip(games, played, strict=True):
        opening = openenv.ask("reset", episode="e", seed=seed)["messages"]
        assert opening == [{"role": "user", "content": game["text"]}]
        turns, done = 0, False
        while not done:
            done = act(openenv, guesses[turns])["done"]
            turns += 1
        assert (turns, done) == (len(game["rewards"]), game["done"])
        assert openenv.ask("evaluate", episode="e")["reward"] == game["rewards"][-1]


def test_a_wrong_action_is_told_to_the_agent_and_a_fault_of_the_server_fails_the_task(openenv):
    openenv.ask("reset", episode="e", seed=0)
    told = act(openenv, "seven")["observations"][0]
    assert told == "Error: number: Input should be a valid integer, unable to parse string as an integer"
    error = act(openenv, 99)
    assert (error["type"], error["cause"]) == ("TaskFailed", "environment")
    assert error["message"] == "step: step: EXECUTION_ERROR: out of order"
