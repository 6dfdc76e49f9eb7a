"""Unit: the library for authors of a process, over its pipes."""

import ast
import contextlib
import subprocess
import sys
import time

import pytest
from driver import ROOT, Driver

HERE = ROOT / "test" / "targets"
PRESETS = ROOT / "targets" / "whetstone_process" / "presets"


@pytest.fixture
def till():
    driver = Driver(HERE / "till.py")
    yield driver
    driver.close()


@pytest.fixture
def trouble():
    driver = Driver(HERE / "trouble.py")
    yield driver
    driver.close()


def opened(driver, task, name="e"):
    driver.ask("reset", episode=name, seed=0, task=task)
    return name


def test_plays_an_episode_of_the_example(till):
    assert till.ask("hello", apiVersion=2)["facts"] == {
        "deterministic": False,
        "hasReferences": False,
        "hasDiagnostics": False,
        "costsTokens": False,
    }
    assert till.ask("tasks") == {"tasks": None}
    assert till.ask("describe")["tools"][0]["function"]["name"] == "charge"
    opening = till.ask("reset", episode="e", seed=7)
    assert opening == {"messages": [{"role": "user", "content": "One coffee for 431 cents, please."}], "tags": []}
    assert till.ask("step", episode="e", text="Hello") == {"observations": ["I would like to pay."], "done": False}
    unknown = [{"name": "refund", "arguments": {}}, {"name": "charge", "arguments": {"cents": 431}}]
    assert till.ask("step", episode="e", calls=unknown, text="I charge you.") == {
        "observations": ["Error: there is no tool named refund.", "Charged."],
        "done": True,
    }
    assert till.ask("evaluate", episode="e") == {"reward": 1.0, "diagnostics": {}}
    assert till.ask("evaluate", episode="e")["type"] == "NoSuchEpisode"


def test_an_episode_may_have_tools_of_its_own(trouble):
    assert "tools" not in trouble.ask("reset", episode="of-all", seed=0, task="slow")
    opening = trouble.ask("reset", episode="own", seed=0, task="own-tools")
    assert [tool["function"]["name"] for tool in opening["tools"]] == ["listen"]
    both = [{"name": name, "arguments": {}} for name in ("look", "listen")]
    answer = trouble.ask("step", episode="own", calls=both)
    assert answer["observations"] == ["Error: there is no tool named look.", "done"]


def test_the_example_has_at_most_forty_lines():
    lines = (HERE / "till.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 40


def test_refuses_another_version(till):
    assert till.ask("hello", apiVersion=3) == {
        "type": "BadRequest",
        "message": "hello: this process speaks version 2 of the protocol, not 3",
        "traceback": None,
    }


def test_64_episodes_with_steps_of_two_seconds_run_at_once_beside_faults(trouble):
    names = [f"e{number}" for number in range(64)]
    for answer in [trouble.send("reset", episode=name, seed=0, task="together") for name in names]:
        assert "result" in answer()
    opened(trouble, "never-answers", "hung")
    opened(trouble, "crashes", "bad")
    hung = trouble.send("step", episode="hung", text="?")
    waiting = [trouble.send("step", episode=name, text="2") for name in names]
    bad = trouble.ask("step", episode="bad", calls=[{"name": "look", "arguments": {}}])
    assert (bad["type"], bad["cause"], bad["message"]) == ("TaskFailed", "raised", "step: KeyError: 'price'")
    assert 'raise KeyError("price")' in bad["traceback"]
    assert all(answer()["result"]["observations"] == ["64 said 2"] for answer in waiting)
    assert trouble.ask("drop", episode="hung") == {}
    assert hung()["error"]["type"] == "NoSuchEpisode"
    for answer in [trouble.send("evaluate", episode=name) for name in names]:
        assert answer()["result"]["reward"] == 1


def test_beats_count_what_waits(trouble):
    opened(trouble, "never-answers")
    hung = trouble.send("step", episode="e", text="?")
    deadline = time.monotonic() + 60
    while not trouble.beats and time.monotonic() < deadline:
        time.sleep(0.1)
    assert trouble.beats[0] == {"open": 1, "waiting": 1}
    trouble.ask("drop", episode="e")
    hung()


@pytest.mark.parametrize(
    ("task", "kind", "cause", "message"),
    [
        ("simulator", "TaskFailed", "simulator", "step: the user's model answered with status 500"),
        ("badly-named", "TaskFailed", "other", "step: The user left!"),
        ("exits", "TaskFailed", "raised", "step: SystemExit: 3"),
        ("no-text", "BadReturn", None, "say: what the agent reads is not a string"),
        ("long", "BadReturn", None, "say: an observation of 70000 characters; the cap is 65536"),
    ],
)
def test_a_fault_ends_its_episode_and_no_other(trouble, task, kind, cause, message):
    opened(trouble, task)
    opened(trouble, "fine", "other")
    error = trouble.ask("step", episode="e", text="Hello")
    assert (error["type"], error.get("cause"), error["message"]) == (kind, cause, message)
    assert trouble.ask("evaluate", episode="e")["type"] == "NoSuchEpisode"
    assert trouble.ask("step", episode="other", text="Hello")["observations"] == ["You said Hello"]


def test_an_episode_that_does_not_open_frees_its_name(trouble):
    error = trouble.ask("reset", episode="e", seed=0, task="does-not-open")
    assert (error["type"], error["message"]) == ("TaskFailed", "reset: ValueError: no such table")
    assert trouble.ask("reset", episode="e", seed="0")["type"] == "BadRequest"
    assert trouble.ask("reset", episode="e", seed=0, task="fine")["messages"][0]["role"] == "assistant"
    assert "is running" in trouble.ask("reset", episode="e", seed=0)["message"]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("bad-reward", "evaluate: '1.5' is not a number in [0, 1]"),
        ("nan", "a value is not JSON: Out of range float values are not JSON compliant"),
        ("bad-usage", "evaluate: usage is not {promptTokens, completionTokens}, integers from 0 to 1000000000"),
    ],
)
def test_refuses_rewards_that_are_none(trouble, task, message):
    error = trouble.ask("evaluate", episode=opened(trouble, task))
    assert error["type"] == "BadReturn"
    assert error["message"].startswith(message)


def test_passes_on_parts_and_usage(trouble):
    assert trouble.ask("evaluate", episode=opened(trouble, "usage")) == {
        "reward": 1.0,
        "parts": {"db": 1.0},
        "diagnostics": {},
        "usage": {"promptTokens": 3, "completionTokens": 1},
    }


@pytest.mark.parametrize("preset", sorted(path.name for path in PRESETS.glob("[!_]*.py")))
def test_presets_evaluate_with_fields_that_there_are(preset):
    nodes = ast.walk(ast.parse((PRESETS / preset).read_text()))
    methods = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == "evaluate"]
    returned = [node.value for method in methods for node in ast.walk(method) if isinstance(node, ast.Return)]
    fields = {ast.literal_eval(key) for value in returned if isinstance(value, ast.Dict) for key in value.keys}
    assert fields <= {"reward", "parts", "diagnostics"}


def test_an_episode_that_fails_or_is_dropped_says_what_it_has_spent(trouble):
    spent = {"promptTokens": 3, "completionTokens": 1}
    opened(trouble, "simulator")
    assert trouble.ask("step", episode="e", text="Hello")["usage"] == spent
    opened(trouble, "usage")
    assert trouble.ask("drop", episode="e") == {"usage": spent}
    assert trouble.ask("drop", episode=opened(trouble, "bad-usage")) == {}
    assert trouble.ask("drop", episode="e") == {}


def test_a_user_who_left_before_the_agent_spoke_ends_the_episode_in_its_first_step(trouble):
    opened(trouble, "user-left")
    calls = [{"name": "look", "arguments": {}}]
    assert trouble.ask("step", episode="e", calls=calls) == {"observations": [""], "done": True}
    assert "is over" in trouble.ask("step", episode="e", text="Hello")["message"]
    assert trouble.ask("evaluate", episode="e")["reward"] == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "step: give calls, text, or both"),
        ({"calls": []}, "step: calls is not a list of 1 to 64"),
        ({"calls": [{"name": "look"}]}, "step: a call is not {name: str, arguments: object}"),
        ({"text": 1}, "step: text is not a string"),
    ],
)
def test_a_bad_request_leaves_the_episode_open(trouble, params, message):
    opened(trouble, "fine")
    error = trouble.ask("step", episode="e", **params)
    assert (error["type"], error["message"]) == ("BadRequest", message)
    assert trouble.ask("step", episode="e", text="Hello")["observations"] == ["You said Hello"]


def test_each_episode_is_closed_once_however_it_ends(trouble):
    trouble.ask("evaluate", episode=opened(trouble, "evaluated"))
    opened(trouble, "crashes")
    trouble.ask("step", episode="e", calls=[{"name": "look", "arguments": {}}])
    trouble.ask("drop", episode=opened(trouble, "dropped"))
    trouble.ask("drop", episode="unknown")
    opened(trouble, "closed")
    deadline = time.monotonic() + 30
    while (said := trouble.ask("step", episode="e", text="?")["observations"][0]).count(" ") < 2:
        assert time.monotonic() < deadline
    assert sorted(said.split()) == ["crashes", "dropped", "evaluated"]


@pytest.mark.parametrize("task", ["closes-never", "closes-never-while-it-plays"])
def test_an_episode_whose_close_never_returns_delays_no_request(task):
    driver = Driver(HERE / "trouble.py")
    opened(driver, task)
    if task == "closes-never-while-it-plays":
        driver.send("step", episode="e", text="?")
    assert driver.send("drop", episode="e")(30)["result"] == {}
    driver.send("reset", episode="other", seed=0, task="fine")(30)
    assert driver.send("evaluate", episode="other")(30)["result"]["reward"] == 1
    opened(driver, task, "open")
    # It ends with an open episode, too.
    assert driver.close()[0] == 0


def test_episodes_whose_close_never_returns_count_as_stuck(trouble):
    for _ in range(256):
        opened(trouble, "closes-never-while-it-plays")
        trouble.send("step", episode="e", text="?")
        trouble.send("drop", episode="e")(30)
    error = trouble.send("reset", episode="e", seed=0, task="fine")(30)["error"]
    assert (error["type"], error["cause"]) == ("TaskFailed", "stuck")


def test_answers_named_tasks_and_references(trouble):
    assert [task["id"] for task in trouble.ask("tasks")["tasks"]] == ["slow", "crashes"]
    assert trouble.ask("reference", seed=0, task="slow") == {"calls": [{"name": "look", "arguments": {}}]}
    assert trouble.ask("reference", seed=0, task="crashes") == {"calls": None}
    assert trouble.ask("task", seed=3, task="slow") == {"task": {"id": "slow", "seed": 3}}


def test_ends_when_its_requests_end_though_an_episode_hangs():
    driver = Driver(HERE / "trouble.py")
    opened(driver, "slow")
    driver.send("step", episode="e", text="300")
    assert driver.close()[0] == 0


def test_ends_at_a_line_over_the_limit():
    driver = Driver(HERE / "till.py")
    driver.ask("hello", apiVersion=2)
    with contextlib.suppress(BrokenPipeError):
        driver.send_line("x" * (1 << 20) + "x")
    assert driver.close()[0] == 64


def test_says_who_starts_it():
    done = subprocess.run(
        [sys.executable, HERE / "till.py"],
        env={"PYTHONPATH": str(ROOT / "targets")},
        capture_output=True,
        text=True,
        close_fds=True,
    )
    assert done.returncode == 1
    assert "Whetstone starts this process" in done.stderr
