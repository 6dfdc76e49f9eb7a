"""The orders desk as a LangGraph agent, which asks for chat completions."""

import json
import os
import sys
from pathlib import Path

from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "program"))
from desk import Desk  # noqa: E402

task, desk = json.load(sys.stdin), Desk()
beginning = desk.reset(task["seed"])


def tool_of(function: dict) -> StructuredTool:
    """A tool of the desk."""

    def run(**arguments):
        return desk.step({"name": function["name"], "arguments": json.dumps(arguments)})["observation"]

    return StructuredTool.from_function(
        run, name=function["name"], description=function["description"], args_schema=function["parameters"]
    )


tools = [tool_of(tool["function"]) for tool in beginning["tools"]]
model = ChatOpenAI(model=os.environ["OPENAI_MODEL"], streaming="--stream" in sys.argv).bind_tools(tools)


def ask(state: MessagesState) -> dict:
    """The model's next message."""
    return {"messages": [model.invoke(state["messages"])]}


def after_answer(state: MessagesState) -> str:
    """An answer without calls ends the conversation."""
    return "tools" if state["messages"][-1].tool_calls else END


graph = StateGraph(MessagesState)
graph.add_node("ask", ask)
graph.add_node("tools", ToolNode(tools))
graph.add_edge(START, "ask")
graph.add_conditional_edges("ask", after_answer, ["tools", END])
graph.add_conditional_edges("tools", lambda _: END if desk.done else "ask", ["ask", END])
# One call after the other: they change the same desk.
config = {"max_concurrency": 1, "recursion_limit": 4 * task["max_turns"]}
messages = graph.compile().invoke({"messages": beginning["messages"]}, config)["messages"]
last = max(place for place, message in enumerate(messages) if message.type == "ai")
observations = [message.content for message in messages[last + 1 :]]
print(json.dumps(desk.finish({"finish": "done" if desk.done else "no-tool-call", "observations": observations})))
