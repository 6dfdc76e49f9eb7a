"""The orders desk as a program whose conversations branch: by its seed it streams, retries, or has a sub-agent."""

import json
import os
import sys
import threading
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["DESK"])))
from environment import Environment  # noqa: E402

MODEL = os.environ["OPENAI_MODEL"]


def post(path: str, body: dict) -> str:
    """The answer of the model's server."""
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + path
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
        return response.read().decode()


def whole(messages: list[dict]) -> dict:
    """The model's next message."""
    body = {"model": MODEL, "messages": messages, "tools": Environment.tools()}
    return json.loads(post("/chat/completions", body))["choices"][0]["message"]


def streamed(messages: list[dict]) -> dict:
    """The same, put together from a stream."""
    body = {"model": MODEL, "messages": messages, "tools": Environment.tools(), "stream": True}
    message: dict = {"role": "assistant", "content": ""}
    for event in post("/chat/completions", body).split("\n\n"):
        if not event.startswith("data: {"):
            continue
        delta = json.loads(event.removeprefix("data: "))["choices"][0]["delta"]
        message["content"] += delta.get("content") or ""
        for call in delta.get("tool_calls") or []:
            made = {"id": call["id"], "type": "function", "function": call["function"]}
            message.setdefault("tool_calls", []).append(made)
    return message | {"content": message["content"] or None}


def by_responses(question: str) -> None:
    """A sub-agent's question, in another dialect."""
    post("/responses", {"model": MODEL, "input": question})


def by_messages(question: str) -> None:
    """The same in a third, streamed."""
    messages = [{"role": "user", "content": question}]
    post("/messages", {"model": MODEL, "max_tokens": 64, "messages": messages, "stream": True})


def main() -> dict:
    """Plays one task; returns its result."""
    task = json.load(sys.stdin)
    kind = task["seed"] % 5
    desk, played, observations, has_asked = Environment(), [], [], False
    messages = desk.reset(task["seed"])
    question = messages[-1]["content"]
    for turn in range(task["max_turns"]):
        if kind == 3 and turn == 1:
            # Sub-agents, at the same time.
            asks = [threading.Thread(target=ask, args=(question,)) for ask in (by_responses, by_messages)]
            for thread in asks:
                thread.start()
            for thread in asks:
                thread.join()
        if kind == 2 and turn == 1:
            # What was said so far is asked again, and begun again with another prefix; the second answers are dropped.
            whole(messages)
            whole([{"role": "user", "content": question + " please"}, *messages[1:]])
        answer = (streamed if kind == 1 else whole)(messages)
        messages.append(answer)
        observations = []
        for call in answer.get("tool_calls") or []:
            made = {"name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
            result = desk.step(made)
            played.append({"call": made, "observation": result["observation"]})
            observations.append(result["observation"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result["observation"]})
            if result["done"]:
                break
        if observations and result["done"]:
            break
        if not observations:
            if has_asked:
                break
            has_asked = True
            messages.append({"role": "user", "content": "Is that all?"})
    scored = Environment.evaluate(played, Environment.generate_task(task["seed"]))
    return (scored if isinstance(scored, dict) else {"reward": scored}) | {"observations": observations}


print(json.dumps(main()))
