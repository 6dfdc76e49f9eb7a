"""Tier: jail. The client of the environment runtime, with the runtime in a plain process and in the jail."""

from __future__ import annotations

import os
import textwrap

import pytest
from fixtures.counter_environment import COUNTER, add, profile_with
from whetstone.envs.client import open_environment
from whetstone.envs.errors import SandboxError


def test_client_runs_batches(isolation, module):
    with open_environment(module(), isolation=isolation) as environment:
        assert environment.describe()["hasSay"] is False
        episodes = range(300)
        environment.batch([{"method": "reset", "params": {"episode": n, "seed": n}} for n in episodes])
        steps = [{"method": "step", "params": {"episode": n, "calls": [add(n % 5)]}} for n in episodes]
        assert [outcome["result"]["observations"] for outcome in environment.batch(steps)] == [
            [str(n % 5)] for n in episodes
        ]
        rewards = environment.batch([{"method": "evaluate", "params": {"episode": n}} for n in episodes])
        assert {outcome["result"]["reward"] for outcome in rewards} == {1.0}
        assert environment.batch([]) == []


def test_client_asks_again_for_what_did_not_fit(isolation, module):
    source = COUNTER.replace('{"target"', '{"filler": "x" * 200000, "target"')
    with open_environment(module(source), isolation=isolation) as environment:
        outcomes = environment.batch([{"method": "task", "params": {"seed": n}} for n in range(11)])
        assert [outcome["result"]["task"]["target"] for outcome in outcomes] == [n % 5 for n in range(11)]


def test_client_survives_large_lines_both_ways(isolation, module):
    source = COUNTER + '\n    def say(self, text):\n        return {"observation": text[:60000], "done": False}\n'
    with open_environment(module(source), isolation=isolation) as environment:
        names = [f"e{n}" for n in range(40)]
        environment.batch([{"method": "reset", "params": {"episode": name, "seed": 1}} for name in names])
        text = "y" * 90000
        outcomes = environment.batch([{"method": "step", "params": {"episode": n, "text": text}} for n in names])
        assert {outcome["result"]["observations"][0] for outcome in outcomes} == {"y" * 60000}


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("import time; time.sleep(100)", "Sandbox.EnvironmentHung"),
        ("import os, time; os.close(4); time.sleep(1e9)", "Sandbox.EnvironmentHung"),
        ("import os, time\n        while os.write(4, b' '): time.sleep(0.001)", "Sandbox.EnvironmentHung"),
        ("import os; os._exit(4)", "Sandbox.EnvironmentDied"),
        ("import os; os.write(4, b'forged\\n')", "Sandbox.BadOutput"),
        ("import os; os.write(4, b'x' * (3 << 20))", "Sandbox.BadOutput"),
        ("import os\n        while True: os.write(1, b'x' * 65536)", "Sandbox.OutputFlood"),
        ("raise KeyboardInterrupt", "Sandbox.EnvironmentRaised"),
        ("return 5", "Sandbox.BadReturn"),
    ],
)
def test_client_types_every_failure(isolation, module, tmp_path, statement, kind):
    source = COUNTER + f"\n    def step(self, call):\n        {statement}\n"
    profile = profile_with(tmp_path, request=1500, close=200)
    with open_environment(module(source), isolation=isolation, profile=profile) as environment:
        pid = environment.pid
        environment.request("reset", {"episode": "a", "seed": 1})
        with pytest.raises(SandboxError) as caught:
            environment.request("step", {"episode": "a", "calls": [add(1)]})
        assert caught.value.type == kind
        if kind in ("Sandbox.EnvironmentRaised", "Sandbox.BadReturn"):
            assert environment.request("evaluate", {"episode": "a"})["reward"] == 0.0
        else:
            with pytest.raises(SandboxError) as again:
                environment.request("task", {"seed": 1})
            assert again.value is caught.value
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


def test_a_jail_whose_program_crashed_says_by_which_signal(module):
    source = COUNTER + "\n    def step(self, call):\n        import os\n        os.kill(os.getpid(), 11)\n"
    with open_environment(module(source)) as environment:
        environment.request("reset", {"episode": "a", "seed": 1})
        with pytest.raises(SandboxError, match="ended with code 139, which stands for SIGSEGV") as caught:
            environment.request("step", {"episode": "a", "calls": [add(1)]})
    assert caught.value.type == "Sandbox.EnvironmentDied"


def test_closed_environment_says_so(isolation, module):
    environment = open_environment(module(), isolation=isolation)
    pid = environment.pid
    environment.close()
    environment.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(SandboxError) as caught:
        environment.describe()
    assert caught.value.type == "Sandbox.EnvironmentClosed"
    assert caught.value.retryable


def test_source_faults_are_told(isolation, module):
    with pytest.raises(SandboxError) as caught:
        open_environment(module("x = ("), isolation=isolation)
    assert caught.value.type == "Sandbox.EnvironmentRaised"
    assert caught.value.traceback.startswith("environment.py:1")


def test_inheritable_files_and_variables_stay_outside(isolation, module, tmp_path, monkeypatch):
    monkeypatch.setenv("WHET_TEST_SECRET", "hunter2")
    (tmp_path / "secret").write_text("hunter2")
    descriptor = os.open(tmp_path / "secret", os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    source = COUNTER + textwrap.dedent("""
        import os

        def open_files():
            for number in range(1024):
                try:
                    os.fstat(number)
                    yield number
                except OSError:
                    pass

        Environment.generate_task = staticmethod(lambda seed: {"files": list(open_files()), "env": dict(os.environ)})
    """)
    try:
        with open_environment(module(source), isolation=isolation) as environment:
            seen = environment.request("task", {"seed": 1})["task"]
    finally:
        os.close(descriptor)
    assert seen["files"] == [0, 1, 2, 3, 4]
    assert not set(seen["env"]) - {"PWD", "LC_CTYPE"}
