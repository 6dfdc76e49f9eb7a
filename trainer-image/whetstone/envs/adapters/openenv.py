"""Our environments behind OpenEnv's interface (0.4 to 0.10), and OpenEnv's environments as modules of ours.

An environment of ours becomes a server for any OpenEnv client (TRL, verifiers, torchforge):

    python -m whetstone.envs.adapters.openenv --environment environment.py --port 8000

Within a process, `jailed_environment("environment.py")` is a subclass of OpenEnv's Environment. Its actions are
OpenEnv's own `list_tools` and `call_tool`. The observation that ends the episode contains the reward. OpenEnv has no
text without a tool call. So there is an additional tool, `finish(text)`: it passes on the agent's last words and ends
the episode. If an environment already has a tool of this name, it keeps its own.

An OpenEnv environment becomes a module that is loaded with isolation "process", since it is the owner's own code. The
runtime starts Python without packages and without environment variables. So the module adds the packages' folders and
sets the PATH that OpenEnv needs:

    import os, sys
    os.environ.setdefault("PATH", "/usr/bin:/bin")
    sys.path[:0] = ["/path/of/site-packages", "/path/of/trainer-image"]
    from whetstone.envs.adapters.openenv import module_class
    from echo_env.server import EchoEnvironment
    Environment = module_class(EchoEnvironment)
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAX_STEPS = 50
# This tool replaces an answer with text: an agent ends the episode by calling it.
FINISH = {
    "name": "finish",
    "description": "Ends the episode with a last text for the user.",
    "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def jailed_environment(path: str | Path, isolation: str = "jail") -> type:
    """A subclass of OpenEnv's Environment; each instance has its own jailed process. reset(seed) opens the task of a
    seed.

    The class asks OpenEnv to run each instance in its own thread, because the jail needs that.
    """
    from openenv.core.env_server.interfaces import Environment
    from openenv.core.env_server.mcp_types import (
        CallToolAction,
        CallToolObservation,
        ListToolsAction,
        ListToolsObservation,
        Tool,
    )
    from openenv.core.env_server.types import State

    from whetstone.envs.client import open_environment

    from .episodes import OVER, TRAINING_SEEDS, Episode

    class JailedEnvironment(Environment):
        SUPPORTS_CONCURRENT_SESSIONS = True
        REQUIRES_SINGLE_THREAD_EXECUTOR = True

        def __init__(self) -> None:
            super().__init__()
            self._process = open_environment(path, isolation=isolation)
            self._tools = [tool["function"] for tool in self._process.describe()["tools"]]
            self._finishes = all(tool["name"] != FINISH["name"] for tool in self._tools)
            if self._finishes:
                self._tools.append(FINISH)
            self._episode: Episode | None = None
            self._state = State()

        def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Any:
            if seed is None:
                # Without a seed every episode has another task, as OpenEnv's clients expect.
                seed = TRAINING_SEEDS + int.from_bytes(os.urandom(4))
            self._forget()
            self._episode = Episode(self._process, seed)
            self._state = State(episode_id=episode_id, step_count=0, seed=seed)
            return opening_observation()(messages=self._episode.messages)

        def step(self, action: Any, timeout_s: float | None = None, **_: Any) -> Any:
            if isinstance(action, ListToolsAction):
                return ListToolsObservation(tools=[_tool_of(Tool, function) for function in self._tools])
            if not isinstance(action, CallToolAction):
                raise ValueError(f"This environment takes call_tool and list_tools, not {type(action).__name__}.")
            if self._episode is None:
                raise ValueError("There is no episode; call reset first.")
            was_over = self._episode.over
            result = OVER if was_over else self._make(action)
            self._state.step_count += 1
            ended = self._episode.over and not was_over
            reward = self._episode.reward() if ended else None
            return CallToolObservation(
                tool_name=action.tool_name, result=result, done=self._episode.over, reward=reward
            )

        @property
        def state(self) -> State:
            return self._state

        def close(self) -> None:
            self._process.close()

        def _make(self, action: Any) -> str:
            if not (self._finishes and action.tool_name == FINISH["name"]):
                return self._episode.call(action.tool_name, action.arguments)
            answer = self._episode.say(str(action.arguments.get("text", "")))
            self._episode.over = True
            return answer

        def _forget(self) -> None:
            if self._episode is not None:
                self._episode.close()

    return JailedEnvironment


def opening_observation() -> type:
    """The observation that `reset` returns: OpenEnv's, with the opening in `messages` as [{role, content}]."""
    from openenv.core.env_server.types import Observation

    class OpeningObservation(Observation):
        messages: list[dict[str, str]]

    return OpeningObservation


def create_server(path: str | Path, isolation: str = "jail", sessions: int = 8) -> Any:
    """OpenEnv's FastAPI application for an environment of ours, with at most `sessions` parallel episodes."""
    from openenv.core.env_server.http_server import create_fastapi_app
    from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation

    named = {"env_name": Path(path).stem, "reset_observation_cls": opening_observation()}
    # Versions before 0.10 accept neither the name nor the form of the first observation.
    known = inspect.signature(create_fastapi_app).parameters
    return create_fastapi_app(
        jailed_environment(path, isolation),
        CallToolAction,
        CallToolObservation,
        max_concurrent_envs=sessions,
        **{key: value for key, value in named.items() if key in known},
    )


def module_class(make: Callable[[], Any], max_steps: int = MAX_STEPS) -> type:
    """A class `Environment` of ours (docs/reference/protocols.md, section 1) around an OpenEnv environment with tools.

    Its reward is the sum of OpenEnv's rewards, cut to [0, 1]. `evaluate` computes it by playing the trajectory again in
    a fresh instance with the same seed. OpenEnv has no reference solutions, so the list is empty, and such an
    environment cannot be certified. An episode ends after `max_steps` calls.
    """
    from openenv.core.env_server.mcp_types import CallToolAction, ListToolsAction

    def opened(seed: int) -> tuple[Any, Any]:
        environment = make()
        try:
            return environment, environment.reset(seed=seed)
        except BaseException:
            environment.close()
            raise

    class Environment:
        def __init__(self) -> None:
            self._inner: Any = None
            self._close: Callable[[], Any] = lambda: None
            self._steps = 0

        @staticmethod
        def tools() -> list[dict]:
            with contextlib.closing(make()) as environment:
                listed = environment.step(ListToolsAction()).tools
            return [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
                }
                for tool in listed
            ]

        @staticmethod
        def generate_task(seed: int) -> dict:
            return {"seed": seed}

        def reset(self, seed: int) -> list[dict]:
            self._close()
            self._inner, observation = opened(seed)
            # It runs once, at the end of the episode, even of an abandoned one.
            self._close = weakref.finalize(self, self._inner.close)
            self._steps = 0
            shown = observation.model_dump(mode="json", exclude={"done", "reward", "metadata"})
            messages = shown.get("messages")
            if isinstance(messages, list) and messages:
                return [{"role": message["role"], "content": message["content"]} for message in messages]
            return [{"role": "user", "content": json.dumps(shown, ensure_ascii=False)}]

        def step(self, call: dict) -> dict:
            self._steps += 1
            observation = self._inner.step(CallToolAction(tool_name=call["name"], arguments=call["arguments"]))
            done = observation.done or self._steps >= max_steps
            if done:
                self._close()
            return {"observation": _text_of(observation), "done": done}

        @staticmethod
        def evaluate(trajectory: list[dict], task: dict) -> float:
            environment, _ = opened(task["seed"])
            total = 0.0
            with contextlib.closing(environment):
                for entry in trajectory:
                    if "call" in entry:
                        call = entry["call"]
                        action = CallToolAction(tool_name=call["name"], arguments=call["arguments"])
                        total += float(environment.step(action).reward or 0.0)
            return min(1.0, max(0.0, total))

        @staticmethod
        def reference_solution(task: dict) -> list[dict]:
            return []

    return Environment


def _tool_of(kind: type, function: dict) -> Any:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return kind(name=function["name"], description=function.get("description") or function["name"], input_schema=schema)


def _text_of(observation: Any) -> str:
    """The answer of a tool: text unchanged, anything else as JSON."""
    error = getattr(observation, "error", None)
    if error is not None:
        return json.dumps({"error": error.model_dump(mode="json")}, ensure_ascii=False)
    result = getattr(observation, "result", None)
    result = getattr(result, "data", result)
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def main(arguments: list[str] | None = None) -> None:
    """Serves an environment of ours to OpenEnv's clients."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--environment", required=True, type=Path, help="module with class Environment")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", default=8000, type=int)
    parser.add_argument("--sessions", default=8, type=int, help="episodes at a time, a jail for each")
    parser.add_argument("--isolation", default="jail", choices=("jail", "process"))
    chosen = parser.parse_args(arguments)
    if not chosen.environment.is_file():
        parser.error(f"--environment {chosen.environment}: there is no such file")
    import uvicorn

    app = create_server(chosen.environment, chosen.isolation, chosen.sessions)
    uvicorn.run(app, host=chosen.host, port=chosen.port, log_level="warning")


if __name__ == "__main__":
    main()
