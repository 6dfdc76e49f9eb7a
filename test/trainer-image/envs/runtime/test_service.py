"""Tier: unit. The environment runtime, without its process: requests, results and faults."""

from __future__ import annotations

import json

import pytest
from fixtures.counter_environment import COUNTER, add
from whetstone.envs import jail, runtime


@pytest.fixture
def service():
    """A runtime without its process."""
    return runtime.Service()


def ask(service, method, **params):
    """Result of a request, or its error."""
    line = service.respond(json.dumps({"id": 1, "method": method, "params": params}).encode())
    assert line.endswith(b"\n")
    response = json.loads(line)
    assert response.pop("id") == 1
    return response.get("result", response.get("error"))


def test_episode(service):
    assert ask(service, "load", source=COUNTER)["apiVersion"] == 1
    assert ask(service, "describe") == {
        "tools": [
            {"type": "function", "function": {"name": "add", "description": "", "parameters": {"type": "object"}}}
        ],
        "hasSay": False,
        "hasHints": False,
    }
    reset = ask(service, "reset", episode="a", seed=3)
    assert reset == {"messages": [{"role": "user", "content": "Reach 3."}], "tags": ["odd"]}
    assert ask(service, "step", episode="a", calls=[add(1), add(1)]) == {"observations": ["1", "2"], "done": False}
    assert ask(service, "step", episode="a", calls=[add(1), add(9)]) == {"observations": ["3"], "done": True}
    assert ask(service, "step", episode="a", calls=[add(1)])["type"] == "BadRequest"
    # The environment pops from the arguments that it is handed; the recorded trajectory keeps them.
    assert ask(service, "evaluate", episode="a") == {"reward": 1.0, "diagnostics": {}}
    assert ask(service, "evaluate", episode="a")["type"] == "NoSuchEpisode"


def test_text_ends_the_episode_without_say(service):
    ask(service, "load", source=COUNTER)
    ask(service, "reset", episode=1, seed=0)
    assert ask(service, "step", episode=1, text="done") == {"observations": [""], "done": True}


def score(service, seed, calls):
    """The reward of calls in an episode of their own, or the error of the request that failed."""
    ask(service, "reset", episode="score", seed=seed)
    step = ask(service, "step", episode="score", calls=calls)
    return ask(service, "evaluate", episode="score") if "observations" in step else step


def test_reference_and_task(service):
    ask(service, "load", source=COUNTER)
    calls = ask(service, "reference", seed=4)["calls"]
    assert score(service, 4, calls)["reward"] == 1.0
    assert score(service, 4, [])["reward"] == 0.0
    assert ask(service, "task", seed=4) == {"task": {"target": 4, "tags": []}}
    assert ask(service, "hints", seed=4) == {"hints": []}


def test_drop_is_blind(service):
    ask(service, "load", source=COUNTER)
    ask(service, "reset", episode="a", seed=1)
    assert ask(service, "drop", episode="a") == {}
    assert ask(service, "drop", episode="a") == {}
    assert ask(service, "drop", episode=["a"]) == {}
    assert ask(service, "step", episode="a", calls=[])["type"] == "NoSuchEpisode"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("reset", {"episode": "a"}),
        ("reset", {"episode": "a", "seed": 1.5}),
        ("reset", {"episode": "a", "seed": True}),
        ("reset", {"episode": "a", "seed": 2**60}),
        ("reset", {"episode": "x" * 65, "seed": 1}),
        ("reset", {"episode": None, "seed": 1}),
        ("task", {"sed": 1}),
        ("task", {"self": 1, "seed": 1}),
        ("step", {"episode": "open", "calls": [{"name": "add"}]}),
        ("step", {"episode": "open", "calls": "add"}),
        ("step", {"episode": "open", "calls": [{"name": "x" * 201, "arguments": {}}]}),
        ("load", {"source": "x = 1"}),
        ("respond", {}),
        ("__init__", {}),
        ("batch", {"requests": {}}),
    ],
)
def test_bad_requests(service, method, params):
    ask(service, "load", source=COUNTER)
    ask(service, "reset", episode="open", seed=1)
    assert ask(service, method, **params)["type"] == "BadRequest"


def test_nothing_works_before_load(service):
    assert ask(service, "task", seed=1)["message"] == "no environment is loaded; send load first"


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"nonsense", b'{"id": "1"}', b'{"id": 1} x', b'{"id": NaN}', b"\xff", b"[" * 5000]
)
def test_lines_that_are_no_requests(service, line):
    response = json.loads(service.respond(line))
    assert response["id"] is None
    assert response["error"]["type"] == "BadRequest"


@pytest.mark.parametrize(
    ("returned", "sentence"),
    [
        ("2.0", "a reward is a number in [0, 1]"),
        ("1.000001", "returned 1.000001; a reward is a number in [0, 1]"),
        ("-0.000001", "returned -1e-06; a reward is a number in [0, 1]"),
        ("10**400", "a reward is a number in [0, 1]"),
        ("'1.0'", "returned '1.0' of type str; a reward is a number in [0, 1]"),
        ("{'reward': '1'}", "returned '1' of type str; a reward is a number in [0, 1]"),
        ("True", "returned True of type bool; a reward is a number in [0, 1]"),
        ("None", "returned None of type NoneType; a reward is a number in [0, 1]"),
        ("[1.0]", "returned [1.0] of type list; a reward is a number in [0, 1]"),
        ("{'score': 1.0}", "returned a dict without `reward`"),
        ("float('nan')", "something that is not JSON"),
        ("float('inf')", "something that is not JSON"),
        ("{'reward': 1, 'diagnostics': {'verify': 'unknown'}}", "`diagnostics` is not a dict"),
    ],
)
def test_rewards_are_checked(service, returned, sentence):
    source = COUNTER + f"\n    @staticmethod\n    def evaluate(trajectory, task):\n        return {returned}\n"
    ask(service, "load", source=source)
    error = score(service, 1, [add(1)])
    assert error["type"] == "BadReturn"
    assert sentence in error["message"]


@pytest.mark.parametrize(
    ("returned", "reward"),
    [
        ("sum([0.1] * 10)", 1.0),
        ("sum([0.05] * 20)", 1.0),
        ("sum([0.1] * 8)", 0.8),
        ("0.1 + 0.2", 0.3),
        ("0.3 - 0.1 * 3", 0.0),
        ("1 - 0.9 - 0.1", 0.0),
        ("7 * (1 / 7)", 1.0),
        ("sum([1 / 6] * 6)", 1.0),
        ("{'reward': sum([0.1] * 10)}", 1.0),
        ("1", 1.0),
        ("1 / 3", 1 / 3),
        ("2 / 3", 2 / 3),
        ("0.123456789", 0.123456789),
        ("0.99999", 0.99999),
    ],
)
def test_sums_reach_the_number_that_is_meant(service, returned, reward):
    source = COUNTER + f"\n    @staticmethod\n    def evaluate(trajectory, task):\n        return {returned}\n"
    ask(service, "load", source=source)
    found = score(service, 1, [])["reward"]
    # Zero has no sign.
    assert (found, str(found)) == (reward, str(reward))


@pytest.mark.parametrize(
    ("method", "replacement"),
    [
        ("describe", 'def tools():\n        return "add"'),
        ("describe", "def tools():\n        return []"),
        ("describe", 'def tools():\n        return [{"type": "function", "function": {"name": "a b"}}]'),
        ("describe", 'def tools():\n        return [{"type": "function", "function": {"name": "-a"}}]'),
        ("describe", 'def tools():\n        return 2 * [{"type": "function", "function": {"name": "a"}}]'),
    ],
)
def test_tools_are_checked(service, method, replacement):
    ask(service, "load", source=COUNTER + f"\n    @staticmethod\n    {replacement}\n")
    assert ask(service, method)["type"] == "BadReturn"


@pytest.mark.parametrize(
    "returned",
    [
        "None",
        "'text'",
        "{'observation': 1, 'done': False}",
        "{'observation': 'x', 'done': 1}",
        "{'observation': 'x' * 70000, 'done': False}",
        "{'observation': b'x', 'done': False}",
        "{'observation': '\\ud800', 'done': False}",
        "{'observation': 'x', 'done': False, 'more': float('inf')}",
    ],
)
def test_observations_are_checked(service, returned):
    ask(service, "load", source=COUNTER + f"\n    def step(self, call):\n        return {returned}\n")
    ask(service, "reset", episode="a", seed=1)
    assert ask(service, "step", episode="a", calls=[add(1)])["type"] == "BadReturn"


def test_traceback_names_lines_of_the_source(service):
    ask(service, "load", source=COUNTER)
    error = score(service, 1, [{"name": "add", "arguments": {}}])
    assert error["type"] == "EnvironmentRaised"
    assert error["message"] == "step: KeyError: 'n'"
    line = 1 + COUNTER.splitlines().index('        self.total += call["arguments"].pop("n")')
    assert error["traceback"] == f'environment.py:{line} in step: self.total += call["arguments"].pop("n")'


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("x = (", "EnvironmentRaised"),
        ("raise SystemExit", "EnvironmentRaised"),
        ("x = 1", "BadReturn"),
        ("class Environment: pass", "BadReturn"),
        ("\0", "EnvironmentRaised"),
    ],
)
def test_sources_that_do_not_load(service, source, kind):
    assert ask(service, "load", source=source)["type"] == kind


@pytest.mark.parametrize(
    "error",
    [
        "class Odd(Exception):\n    __traceback__ = property(lambda self: 1 / 0)\nraise Odd('ours')\n",
        "odd = SyntaxError('ours')\nodd.filename, odd.lineno = 'environment.py', 'x' * 10**6\nraise odd\n",
    ],
)
def test_what_an_exception_says_of_itself_is_not_asked(service, error):
    fault = ask(service, "load", source=f"{error}class Environment: pass")
    assert fault["type"] == "EnvironmentRaised" and "ours" in fault["message"]
    assert len(fault["traceback"]) < 200 and "environment.py:3 in <module>: raise" in fault["traceback"]


def test_dataclasses_and_annotations_work_in_a_module(service):
    source = (
        "from __future__ import annotations\nimport dataclasses\n\n@dataclasses.dataclass\nclass Order:\n    id: int\n"
    )
    assert ask(service, "load", source=source + COUNTER)["apiVersion"] == 1


def test_batch_isolates_failures(service):
    ask(service, "load", source=COUNTER)
    requests = [
        {"method": "reset", "params": {"episode": "a", "seed": 1}},
        {"method": "reset", "params": {"episode": "a", "seed": 1}},
        {"method": "batch", "params": {"requests": []}},
        "nonsense",
        {"method": "evaluate", "params": {"episode": "a"}},
    ]
    results = ask(service, "batch", requests=requests)["results"]
    assert [next(iter(result)) for result in results] == ["result", "error", "error", "error", "result"]


def test_batch_stops_before_its_line_is_full(service):
    big = COUNTER.replace('{"target"', '{"filler": "x" * 200000, "target"')
    ask(service, "load", source=big)
    line = service.respond(
        json.dumps(
            {"id": 1, "method": "batch", "params": {"requests": [{"method": "task", "params": {"seed": 1}}] * 10}}
        ).encode()
    )
    assert len(line) <= runtime.LINE_BYTES
    results = json.loads(line)["result"]["results"]
    kinds = [result["error"]["type"] if "error" in result else "result" for result in results]
    assert kinds == ["result"] * 4 + ["NotRun"] * 6


def test_profile_repeats_the_runtime_caps():
    caps = jail.load_profile().caps
    assert caps["lineBytes"] == runtime.LINE_BYTES
    assert caps["depth"] == runtime.MAX_DEPTH
    assert caps["batchRequests"] <= runtime.MAX_BATCH
    # What a well-behaved runtime lets through on both streams does not end the process.
    assert 2 * runtime.LOG_BYTES < caps["logBytes"]
