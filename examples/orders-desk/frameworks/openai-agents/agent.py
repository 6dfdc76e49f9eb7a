"""The orders desk as an agent of the OpenAI Agents SDK, which asks for responses."""

import asyncio
import json
import os
import sys
from pathlib import Path

from agents import Agent, FunctionTool, ModelBehaviorError, RunConfig, Runner, ToolsToFinalOutputResult

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "program"))
from desk import Desk  # noqa: E402


def tool_of(desk: Desk, function: dict) -> FunctionTool:
    """A tool of the desk."""

    async def run(_, arguments: str) -> str:
        return desk.step({"name": function["name"], "arguments": arguments})["observation"]

    return FunctionTool(function["name"], function["description"], function["parameters"], run)


async def main() -> dict:
    """Plays one task; returns its result."""
    task, desk, observations = json.load(sys.stdin), Desk(), []
    beginning = desk.reset(task["seed"])
    [policy, customer] = beginning["messages"]

    def after_calls(_, results) -> ToolsToFinalOutputResult:
        observations[:] = [result.output for result in results]
        return ToolsToFinalOutputResult(is_final_output=desk.done, final_output=None)

    agent = Agent(
        name="Orders desk",
        instructions=policy["content"],
        model=os.environ["OPENAI_MODEL"],
        tools=[tool_of(desk, tool["function"]) for tool in beginning["tools"]],
        tool_use_behavior=after_calls,
    )
    config = RunConfig(tool_not_found_behavior="return_error_to_model")
    asked = {"input": customer["content"], "max_turns": 2 * task["max_turns"], "run_config": config}
    try:
        if "--stream" in sys.argv:
            async for _ in Runner.run_streamed(agent, **asked).stream_events():
                pass
        else:
            await Runner.run(agent, **asked)
    except ModelBehaviorError:
        pass  # An answer that was cut at the limit of tokens ends the conversation.
    ended = {"finish": "done", "observations": observations} if desk.done else {"finish": "no-tool-call"}
    return desk.finish(ended)


print(json.dumps(asyncio.run(main())))
