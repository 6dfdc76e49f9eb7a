"""The orders desk as a program (docs/reference/protocols.md, section 2c): it runs its tools itself."""

import json
import os
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from environment import Environment  # noqa: E402


def ask(messages: list[dict]) -> dict:
    """The model's next message."""
    body = {"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": Environment.tools()}
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
        return json.load(response)["choices"][0]["message"]


def run(desk: Environment, function: dict) -> tuple[dict | None, dict]:
    """The call as the desk takes it, and what comes of it."""
    try:
        arguments = json.loads(function["arguments"])
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        refusal = f"Error: the arguments of {function['name']} are not a JSON object."
        return None, {"observation": refusal, "done": False}
    call = {"name": function["name"], "arguments": arguments}
    return call, desk.step(call)


def main() -> dict:
    """Plays one task; returns its result."""
    task = json.load(sys.stdin)
    desk, played, finish, pending = Environment(), [], "turn-limit", []
    messages = desk.reset(task["seed"])
    for _ in range(task["max_turns"]):
        answer = ask(messages)
        messages.append(answer)
        pending = []
        for call in answer.get("tool_calls") or []:
            taken, result = run(desk, call["function"])
            if taken is not None:
                played.append({"call": taken, "observation": result["observation"]})
            pending.append({"role": "tool", "tool_call_id": call["id"], "content": result["observation"]})
            if result["done"]:
                break
        messages += pending
        if not pending or result["done"]:
            finish = "done" if pending else "no-tool-call"
            break
    hidden = Environment.generate_task(task["seed"])
    ended = {"finish": finish, "observations": [message["content"] for message in pending], "tags": hidden["tags"]}
    return Environment.evaluate(played, hidden) | ended


print(json.dumps(main()))
