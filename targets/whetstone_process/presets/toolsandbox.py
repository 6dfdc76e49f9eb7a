"""The scenarios of Apple's ToolSandbox, whose clone is on the PYTHONPATH: conversations about the settings, contacts,
messages and reminders of a phone. The reward is ToolSandbox's similarity, in [0, 1].

It does what ToolSandbox's `Scenario.play` does, turn by turn: its roles speak in the same order, up to the same number
of messages, and its evaluation judges. Three things differ. A user simulator that fails fails the task, where it scores
0 there. The agent reads that a tool does not exist, or that it makes too many calls at once, where that is an error
there, or takes hours.
"""

import argparse
import hashlib
import json
import os
import random
import re
import threading
import time
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace

import tool_sandbox
from openai import NOT_GIVEN, OpenAI
from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageToolCall
from tool_sandbox.common.execution_context import (
    DatabaseNamespace,
    ExecutionContext,
    RoleType,
    ScenarioCategories,
    get_current_context,
    set_current_context,
)
from tool_sandbox.common.message_conversion import Message, to_openai_messages
from tool_sandbox.common.tool_conversion import convert_to_openai_tools
from tool_sandbox.common.tool_discovery import ToolBackend
from tool_sandbox.roles.base_role import BaseRole
from tool_sandbox.roles.execution_environment import ExecutionEnvironment
from tool_sandbox.roles.openai_api_agent import OpenAIAPIAgent
from tool_sandbox.roles.openai_api_user import OpenAIAPIUser
from tool_sandbox.scenarios import named_scenarios

from whetstone_process import Environment, Episode, TaskFailed, serve
from whetstone_process.presets.user_questions import NO_KEY, TRY_SECONDS, UserQuestions

NETWORK_TOOLS = {
    "convert_currency",
    "search_lat_lon",
    "search_location_around_lat_lon",
    "search_stock",
    "search_weather_around_lat_lon",
}
"""Tools that ask rapidapi.com, for which one needs a key."""
MOST_CALLS = 5
"""Calls of one turn. ToolSandbox tries them in every order: five have 120, ten would have 3.6 million."""
SCENARIO_SECONDS = 600
"""Scenarios speak of `tomorrow` and `in an hour`: those that were made longer ago are made again."""
DISTRACTIONS = re.compile(r"_(3_distraction_tools.*|10_distraction_tools|all_tools)$")
VARIATIONS = re.compile(
    r"_(multiple_user_turn|twice|insufficient_information|no_(remove|search)_contacts?|ambiguous|implicit|alt"
    r"|low_battery_mode|(wifi|cellular)_off)(?=_|$)"
)


class TurnByTurnAgent(OpenAIAPIAgent):
    """ToolSandbox's agent, whose answers come from outside."""

    def __init__(self):
        self.answer = None

    def model_inference(self, openai_messages, openai_tools):
        return SimpleNamespace(choices=[SimpleNamespace(message=self.answer)])


class SimulatedUser(OpenAIAPIUser):
    """ToolSandbox's user, with a model at any address."""

    def __init__(self, conversation, seed, options, key):
        self._conversation, self._seed = conversation, seed
        self.model_name, self._temperature = options.user_model, options.user_temperature
        self.openai_client = OpenAI(base_url=options.user_url, api_key=key, max_retries=0, timeout=TRY_SECONDS)

    def model_inference(self, openai_messages, openai_tools):
        with self._conversation.outside_of_the_world():
            answer = self.openai_client.chat.completions.create(
                model=self.model_name,
                messages=openai_messages,
                tools=openai_tools or NOT_GIVEN,
                temperature=self._temperature,
                seed=self._seed,
                timeout=self._conversation.questions.seconds(),
            )
        if answer.usage is not None:
            self._conversation.usage["promptTokens"] += answer.usage.prompt_tokens or 0
            self._conversation.usage["completionTokens"] += answer.usage.completion_tokens or 0
        # Many servers send an empty list where there are none.
        message = answer.choices[0].message
        message.tool_calls = message.tool_calls or None
        return answer


class LeavingUser(BaseRole):
    """A user without a model, who leaves at the agent's second text."""

    role_type = RoleType.USER

    def __init__(self):
        self._texts = 0

    def respond(self, ending_index=None):
        self._texts += 1
        if self._texts == 1:
            recipient, content = RoleType.AGENT, "Please go on."
        else:
            recipient, content = RoleType.EXECUTION_ENVIRONMENT, "print(repr(end_conversation()))"
        self.add_messages([Message(sender=RoleType.USER, recipient=recipient, content=content)])


class Conversation(Episode):
    """A scenario that is being played."""

    def __init__(self, desk, scenario, seed):
        self._desk, self._scenario = desk, scenario
        self.usage = {"promptTokens": 0, "completionTokens": 0}
        self.tags = [str(category) for category in scenario.categories]
        self._is_closed, self._numbered = False, 0
        self.questions = desk.questions()
        self._context = deepcopy(scenario.starting_context)
        self._agent, self._user = TurnByTurnAgent(), desk.user(self, seed)
        self._console = ExecutionEnvironment()
        with self._in_the_world():
            self._last_message = scenario.max_messages + self._context.max_sandbox_message_index
            self._start_console()
            self.tools = convert_to_openai_tools(self._agent.get_available_tools())
        self._advance()
        with self._in_the_world():
            seen, _ = to_openai_messages(self._agent.filter_messages(self._agent.get_messages()))
        self.messages = [{"role": message["role"], "content": message["content"]} for message in seen]

    def calls(self, calls, text):
        self.questions.begin_step()
        known = {tool["function"]["name"] for tool in self.tools}
        if len(calls) > MOST_CALLS:
            return [f"Error: make at most {MOST_CALLS} calls at once."] * len(calls)
        made, observations = {}, []
        for place, call in enumerate(calls):
            observations.append("" if call["name"] in known else f"Error: there is no tool named {call['name']}.")
            if call["name"] in known:
                self._numbered += 1
                function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
                made[place] = ChatCompletionMessageToolCall(
                    id=f"call_{self._numbered}", type="function", function=function
                )
        if made:
            results = self._answer(ChatCompletionMessage(role="assistant", content=text, tool_calls=[*made.values()]))
            for place, call in made.items():
                observations[place] = results.get(call.id, "")
        return observations

    def say(self, text):
        self.questions.begin_step()
        self._answer(ChatCompletionMessage(role="assistant", content=text))
        with self._in_the_world():
            last = self._agent.get_messages()[-1]
        return last.content if (last.sender, last.recipient) == (RoleType.USER, RoleType.AGENT) else ""

    def evaluate(self):
        with self._in_the_world():
            found = self._scenario.evaluation.evaluate(
                execution_context=self._context, max_turn_count=self._scenario.max_messages
            )
        parts = {
            "milestones": float(found.milestone_similarity),
            "minefields": float(found.minefield_similarity),
        }
        return {"reward": float(found.similarity), "parts": parts}

    def close(self):
        self._is_closed = True

    @contextmanager
    def _in_the_world(self):
        """ToolSandbox has one world in a process. An episode that was dropped may still be in it."""
        with self._desk.world:
            if self._is_closed:
                raise TaskFailed("dropped")
            set_current_context(self._context)
            yield
            self._context = get_current_context()

    @contextmanager
    def outside_of_the_world(self):
        """For what takes long within `_in_the_world`."""
        self._context = get_current_context()
        self._desk.world.release()
        try:
            yield
        finally:
            self._desk.world.acquire()
            set_current_context(self._context)
        if self._is_closed:
            raise TaskFailed("dropped")

    def _start_console(self):
        """Lets the execution environment read what the system tells it, as `Scenario.play` does."""
        rows = self._context.get_database(
            DatabaseNamespace.SANDBOX, drop_sandbox_message_index=False, get_all_history_snapshots=True
        )
        told = (RoleType.SYSTEM, RoleType.EXECUTION_ENVIRONMENT)
        for row in rows.to_dicts():
            if (row["sender"], row["recipient"]) == told:
                self._console.respond(ending_index=row["sandbox_message_index"])

    def _answer(self, message):
        """Takes an answer of the agent, and returns the results of its calls by their ids."""
        self._agent.answer = message
        with self._in_the_world():
            self._agent.respond()
        self._advance()
        with self._in_the_world():
            return {row.openai_tool_call_id: row.content for row in self._agent.get_messages() if _is_result(row)}

    def _advance(self):
        """Lets the others speak until the agent is asked, or the conversation is over."""
        while True:
            with self._in_the_world():
                last = self._context.get_database(DatabaseNamespace.SANDBOX, drop_sandbox_message_index=False)
                is_active, index = last["conversation_active"][-1], last["sandbox_message_index"][-1]
                self.done = not is_active or index >= self._last_message
                if self.done or last["recipient"][-1] == RoleType.AGENT:
                    return
                if last["recipient"][-1] == RoleType.USER:
                    self.questions.ask(self._user.respond, waiting=self.outside_of_the_world)
                else:
                    self._console.respond()


def _is_result(message):
    return (message.sender, message.recipient) == (RoleType.EXECUTION_ENVIRONMENT, RoleType.AGENT)


class ToolSandbox(Environment):
    """The scenarios and their user."""

    name = "ToolSandbox"

    def __init__(self, options):
        self._options = options
        self.user_key = os.environ.get(options.user_key_variable or "") or NO_KEY
        self.costs_tokens = options.user_script is None
        self.world = threading.RLock()
        self._make_scenarios()
        set_current_context(ExecutionContext())
        names = set().union(*(_tools_of(scenario) for scenario in self._scenarios.values()))
        every = TurnByTurnAgent().get_available_tools()
        self.tools = convert_to_openai_tools({name: every[name] for name in every if name in names})

    def tasks(self):
        return [{"id": name, "split": _split_of(_group_of(name)), "group": _group_of(name)} for name in self._scenarios]

    def open(self, task, seed):
        with self.world:
            if time.monotonic() - self._made_at > SCENARIO_SECONDS:
                self._make_scenarios()
        return Conversation(self, self._scenarios[task], seed)

    def user(self, conversation, seed):
        """The user of an episode: a script, or ToolSandbox's simulator with a model."""
        if self._options.user_script is not None:
            return LeavingUser()
        return SimulatedUser(conversation, seed, self._options, self.user_key)

    def questions(self):
        """The questions to an episode's user."""
        return UserQuestions(self._options.step_seconds, self.user_key)

    def hello(self):
        hello = super().hello()
        return {**hello, "packages": f"{hello['packages']} tool_sandbox@sha256:{_hash_of_clone()}"}

    def _make_scenarios(self):
        # Tools are shuffled: in every process alike.
        random.seed(0)
        self._made_at = time.monotonic()
        self._scenarios = {
            name: scenario
            for name, scenario in named_scenarios(preferred_tool_backend=ToolBackend.DEFAULT).items()
            if (self._options.with_network or not NETWORK_TOOLS & _tools_of(scenario))
            and (self._options.scenarios == "all" or ScenarioCategories.NO_DISTRACTION_TOOLS in scenario.categories)
        }


def _tools_of(scenario):
    """The tools of a scenario, by the names that ToolSandbox has for them."""
    return set(scenario.starting_context.get_available_tools(scrambling_allowed=False))


def _group_of(name):
    """What the variations of a request have in common, among them other tools, other words and more turns."""
    return VARIATIONS.sub("", DISTRACTIONS.sub("", name))


def _split_of(group):
    """ToolSandbox has no splits. Three groups in five are to learn from, by their names."""
    return "train" if hashlib.sha256(group.encode()).digest()[0] % 5 < 3 else "test"


def _hash_of_clone():
    folder, content = Path(tool_sandbox.__file__).parent, hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        content.update(f"{file.relative_to(folder)}\0{len(file.read_bytes())}\0".encode() + file.read_bytes())
    return content.hexdigest()


def options_of(arguments=None):
    """The command line."""
    parser = argparse.ArgumentParser(prog="toolsandbox", description=__doc__)
    parser.add_argument("--scenarios", choices=("base", "all"), default="all")
    parser.add_argument("--with-network", action="store_true", help="scenarios that need RAPID_API_KEY, too")
    user = parser.add_mutually_exclusive_group(required=True)
    user.add_argument("--user-model", help="model that plays the user")
    user.add_argument("--user-script", choices=("leaves",), help="a user without a model, for tests")
    parser.add_argument("--user-url", help="OpenAI-compatible address of that model")
    parser.add_argument("--user-key-variable", help="variable with its key")
    parser.add_argument("--user-temperature", type=float, default=0.0)
    parser.add_argument("--step-seconds", type=float, default=120.0, help="deadline of an opening and of a step")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    serve(lambda: ToolSandbox(options_of()))
