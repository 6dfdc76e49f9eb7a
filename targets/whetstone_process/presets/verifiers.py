"""One episode of a taskset of verifiers, as a program: the task is the one at the place `seed` of the taskset.

It is what `vf-eval` does with the options `--env.agent.harness.id null --env.agent.runtime.type subprocess` and the
capture endpoint as its client. Only the harness's chat program, which vf-eval starts as a process of its own for each
episode, runs in this process: most of its time goes into imports. The task's tool servers are processes, as there.
"""

import argparse
import asyncio
import json
import os
import sys
import traceback
from pathlib import Path

# An episode writes nothing outside of its folder: verifiers keeps what runs below the home directory.
if "TASK_FILE" in os.environ:
    os.environ["HOME"] = str(Path(os.environ["TASK_FILE"]).parent)

from verifiers.v1.clients import ModelContext
from verifiers.v1.configs.client import EvalClientConfig
from verifiers.v1.harnesses.null import harness as null
from verifiers.v1.runtimes import ProgramResult
from verifiers.v1.utils.loaders import load_environment, resolve_env_config

launch_chat_program = null.launch_chat_program


class InThisProcess:
    """A runtime whose chat program runs in this process."""

    def __init__(self, runtime):
        self._runtime, self._program = runtime, {"__name__": "chat_program"}

    def __getattr__(self, name):
        return getattr(self._runtime, name)

    async def prepare_uv_script(self, source, env, activate=True):
        """Takes the program, and returns a command of no words."""
        exec(compile(source, "chat_program", "exec"), self._program)  # noqa: S102
        return []

    async def run_program(self, arguments, env):
        """Runs it. An exception ends it as the end of a process would."""
        os.chdir(self._runtime.workdir)
        sys.argv = ["chat_program", *arguments]
        try:
            await self._program["main"]()
        except SystemExit as exit:
            # As Python ends: words instead of a code are an error.
            code = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
            return ProgramResult(exit_code=code, stdout="", stderr=traceback.format_exc())
        except Exception:
            return ProgramResult(exit_code=1, stdout="", stderr=traceback.format_exc())
        return ProgramResult(exit_code=0, stdout="", stderr="")


async def launch_here(source, config, ctx, trace, runtime, *rest, **options):
    """verifiers' `launch_chat_program`, in this process."""
    return await launch_chat_program(source, config, ctx, trace, InThisProcess(runtime), *rest, **options)


async def nothing_to_set_up(self, runtime):
    """The harness's `setup`, which would prepare the program's own virtual environment."""


def task_at(taskset, place):
    """The task at a place of a taskset. @raises SystemExit"""
    count = 0
    for count, task in enumerate(taskset, 1):
        if count == place + 1:
            return task
    raise SystemExit(f"The taskset has {count} tasks, so there is no task {place}.")


async def play(options, asked):
    """The finished episode of a task."""
    null.launch_chat_program = launch_here
    null.NullHarness.setup = nothing_to_set_up
    agent = {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}, "max_turns": asked["max_turns"]}
    taskset = {**json.loads(options.options), "id": options.taskset}
    environment = load_environment(resolve_env_config({"taskset": taskset, "agent": agent}))
    client = EvalClientConfig(base_url=os.environ["OPENAI_BASE_URL"], api_key_var="OPENAI_API_KEY")
    context = ModelContext(client=client, model=os.environ["OPENAI_MODEL"])
    task = task_at(environment.taskset, asked["seed"])
    async with environment.serving():
        return await environment.run_episode(task, context)


def result_of(episode):
    """The result of a program. @raises SystemExit for an episode that failed, which verifiers does not score."""
    if not episode.ok:
        errors = [*episode.errors, *(error for trace in episode.traces for error in trace.errors)]
        raise SystemExit("\n".join(f"{error.type}: {error.message}" for error in errors) or "The episode failed.")
    [trace] = episode.traces
    if not 0 <= trace.reward <= 1:
        raise SystemExit(f"The reward {trace.reward} is not in [0, 1]. Weights of rewards are options of the taskset.")
    return {"reward": trace.reward, "finish": "turn-limit" if trace.stop_condition == "max_turns" else "done"}


def main():
    """Plays the task that stdin names, and writes its result."""
    parser = argparse.ArgumentParser(prog="verifiers", description=__doc__)
    parser.add_argument("--taskset", required=True, help="its id: verifiers' own, or that of an installed package")
    parser.add_argument("--options", default="{}", help="its options, as JSON")
    options = parser.parse_args()
    result = result_of(asyncio.run(play(options, json.load(sys.stdin))))
    Path(os.environ["RESULT_FILE"]).write_text(json.dumps(result))


if __name__ == "__main__":
    main()
