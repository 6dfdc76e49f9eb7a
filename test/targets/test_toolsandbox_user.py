"""Unit: how the preset of ToolSandbox asks its simulated user again, with stubs of its packages."""

import importlib
import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import pytest
from driver import ROOT

NAMES = ["openai", "openai.types", "openai.types.chat", "tool_sandbox", "tool_sandbox.common", "tool_sandbox.roles"]
NAMES += [f"tool_sandbox.common.{name}" for name in ("execution_context", "message_conversion")]
NAMES += [f"tool_sandbox.common.{name}" for name in ("tool_conversion", "tool_discovery")]
NAMES += [f"tool_sandbox.roles.{name}" for name in ("base_role", "execution_environment")]
NAMES += [f"tool_sandbox.roles.{name}" for name in ("openai_api_agent", "openai_api_user")]
NAMES += ["tool_sandbox.scenarios"]


class Stub(ModuleType):
    """A module that has every class, each with every constant."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"USER": "user"})


@pytest.fixture
def preset(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "targets"))
    for name in NAMES:
        monkeypatch.setitem(sys.modules, name, Stub(name))
    monkeypatch.delitem(sys.modules, "whetstone_process.presets.toolsandbox", raising=False)
    yield importlib.import_module("whetstone_process.presets.toolsandbox")
    sys.modules.pop("whetstone_process.presets.toolsandbox", None)


def failure_of(preset, monkeypatch, problem, key=None, seconds_per_try=60.0):
    """The failure of a user who never answers, and the seconds that passed by a clock of the test."""
    clock = SimpleNamespace(now=1000.0)

    def sleep(seconds):
        clock.now += seconds

    monkeypatch.setattr(preset, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    if key is not None:
        monkeypatch.setenv("USER_KEY", key)
    words = ["--user-model", "user", "--user-key-variable", "USER_KEY"]
    options = preset.options_of(words)
    monkeypatch.setattr(preset.ToolSandbox, "_make_scenarios", lambda self: setattr(self, "_scenarios", {}))
    monkeypatch.setattr(preset.TurnByTurnAgent, "get_available_tools", lambda self: {}, raising=False)
    for name in ("ExecutionContext", "set_current_context", "convert_to_openai_tools"):
        monkeypatch.setattr(preset, name, lambda *_: [])
    conversation = preset.Conversation.__new__(preset.Conversation)
    conversation._desk = preset.ToolSandbox(options)
    conversation._step_ends = conversation._desk.end_of_step()
    monkeypatch.setattr(preset.Conversation, "outside_of_the_world", lambda self: nullcontext())

    def respond():
        clock.now += min(seconds_per_try, conversation.seconds_to_ask())
        raise TimeoutError(problem)

    conversation._user = SimpleNamespace(respond=respond)
    with pytest.raises(preset.TaskFailed) as failed:
        conversation._ask_user()
    return str(failed.value), clock.now - 1000.0


def test_all_tries_together_end_before_the_deadline_of_the_step(preset, monkeypatch):
    said, seconds = failure_of(preset, monkeypatch, "no answer")
    assert said == "TimeoutError: no answer"
    assert 60 < seconds < 120


def test_without_a_key_no_word_is_hidden_and_a_key_always_is(preset, monkeypatch):
    monkeypatch.delenv("USER_KEY", raising=False)
    assert failure_of(preset, monkeypatch, "none of them", seconds_per_try=0)[0] == "TimeoutError: none of them"
    assert failure_of(preset, monkeypatch, "bad sk-1", "sk-1", 0)[0] == "TimeoutError: bad ***"
