"""Tier: jail. Answers that an environment forges behind the runtime's back: the trainer checks each against its method.

The forged answers are those of the TypeScript side's attacks (test/sandbox/attacks/channel.ts).
"""

from __future__ import annotations

import json
import pathlib

import pytest
from whetstone.envs.adapters.episodes import Episode
from whetstone.envs.answers import nests_deeper_than, read_answer
from whetstone.envs.client import open_environment
from whetstone.envs.errors import SandboxError

FORGED = json.loads((pathlib.Path(__file__).parents[2] / "sandbox" / "attacks" / "forged-answers.json").read_text())
CALL = {"name": "go", "arguments": {}}
PARAMS = {
    "evaluate": {"episode": "a"},
    "step": {"episode": "a", "calls": [CALL]},
    "reset": {"episode": "b", "seed": 2},
    "describe": {},
}

# Each method writes the given answer into the response channel before its own.
FORGER = """
import os, sys

def forge(method):
    frame = sys._getframe()
    while "identifier" not in frame.f_locals:
        frame = frame.f_back
    if method == METHOD:
        os.write(4, b'{"id":%d,"result":%s}\\n' % (frame.f_locals["identifier"], RESULT))

class Environment:
    @staticmethod
    def tools():
        forge("describe")
        return [{"type": "function", "function": {"name": "go", "description": "", "parameters": {"type": "object"}}}]
    @staticmethod
    def generate_task(seed):
        return {}
    def reset(self, seed):
        if seed == 2:
            forge("reset")
        return [{"role": "user", "content": "go"}]
    def step(self, call):
        forge("step")
        return {"observation": "", "done": False}
    @staticmethod
    def evaluate(trajectory, task):
        forge("evaluate")
        return 1.0
    @staticmethod
    def reference_solution(task):
        return []
"""


@pytest.fixture
def open_forger(tmp_path):
    """Opens an environment that forges one answer, with episode "a" under way."""
    opened = []

    def open_one(forged):
        path = tmp_path / "forger.py"
        path.write_text(f"METHOD, RESULT = {forged['method']!r}, {forged['result'].encode()!r}\n{FORGER}")
        opened.append(open_environment(path, isolation="process"))
        opened[0].request("reset", {"episode": "a", "seed": 1})
        return opened[0]

    yield open_one
    for environment in opened:
        environment.close()


def named(forged):
    return forged["name"]


@pytest.mark.parametrize("forged", FORGED["refused"], ids=named)
def test_a_forged_answer_ends_the_process(open_forger, forged):
    environment = open_forger(forged)
    with pytest.raises(SandboxError) as caught:
        environment.request(forged["method"], PARAMS[forged["method"]])
    assert caught.value.type == "Sandbox.BadOutput"


@pytest.mark.parametrize("forged", FORGED["accepted"], ids=named)
def test_a_forged_answer_within_the_schema_is_taken(open_forger, forged):
    """The control of the test above: the forgery arrives, and it is its content that is refused."""
    assert open_forger(forged).request(forged["method"], PARAMS[forged["method"]]) == json.loads(forged["result"])


def answer(method, params, result, identifier=1):
    """Outcomes of a line of its own, or None."""
    line = json.dumps({"id": identifier, "result": result}).encode()
    return read_answer(line, 1, [{"method": method, "params": params}], True, 64)


@pytest.mark.parametrize(
    ("asked", "result", "fits"),
    [
        ({"calls": [CALL, CALL]}, {"observations": ["x", "y"], "done": False}, True),
        ({"calls": [CALL, CALL]}, {"observations": ["x"], "done": True}, True),
        ({"calls": [CALL, CALL]}, {"observations": ["x"], "done": False}, False),
        ({"calls": [CALL]}, {"observations": [], "done": True}, False),
        ({"calls": [CALL]}, {"observations": ["x", "y"], "done": True}, False),
        ({"text": "x"}, {"observations": ["x"], "done": False}, True),
        ({"text": "x"}, {"observations": [], "done": True}, False),
    ],
)
def test_a_step_has_one_observation_a_call_up_to_the_end(asked, result, fits):
    assert (answer("step", asked, result) is not None) == fits


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":true,"result":{}}',
        b'{"id":1.0,"result":{}}',
        b'{"id":1,"result":{},"more":1}',
        b'{"id":1,"error":{"type":"Sandbox.Unavailable","message":"x","traceback":null}}',
        b'{"id":1,"error":{"type":["BadReturn"],"message":"x","traceback":null}}',
        b'{"id":1,"error":{"type":"NotRun","message":"x","traceback":null}}',
        b'{"id":1,"error":{"type":"BadReturn","message":"' + b"x" * 4001 + b'","traceback":null}}',
        b'{"id":1,"error":{"type":"BadReturn","message":"x"}}',
    ],
)
def test_lines_that_are_no_answers(line):
    assert read_answer(line, 1, [{"method": "drop", "params": {}}], True, 64) is None


def test_depth_is_limited():
    nested = "x"
    for _ in range(80):
        nested = [nested]
    assert answer("task", {"seed": 1}, {"task": {"a": nested}}) is None
    assert (
        answer("task", {"seed": 1}, {"task": {"a": nested[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]}}) is not None
    )
    assert [nests_deeper_than(value, 2) for value in (1, [1], [[1]], [[[]]], {"a": [{}]})] == [False] * 3 + [True] * 2


def test_a_batch_holds_each_answer_to_its_own_method():
    requests = [{"method": "drop", "params": {"episode": 1}}, {"method": "evaluate", "params": {"episode": 2}}]
    good = [{"result": {}}, {"result": {"reward": 1, "diagnostics": {}}}]

    def read(results):
        return read_answer(json.dumps({"id": 1, "result": {"results": results}}).encode(), 1, requests, False, 64)

    assert read(good) == good
    assert read(good[::-1]) is None
    assert read(good[:1]) is None
    assert read([good[0], {"result": {"reward": 2, "diagnostics": {}}}]) is None


def test_the_adapters_see_a_sandbox_error(open_forger):
    environment = open_forger({"method": "evaluate", "result": '{"score":1}'})
    with pytest.raises(SandboxError) as caught:
        Episode(environment, 1).reward()
    assert caught.value.type == "Sandbox.BadOutput"
