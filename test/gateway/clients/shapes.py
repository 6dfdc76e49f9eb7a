"""Runs the openai package's own request shapes against base URLs and prints the answers of each, as one JSON list.

`python shapes.py BASE_URL MODEL [BASE_URL MODEL ...]`: ids and times are
left out, because they may differ between two servers.
"""

import json
import sys

import openai

TOOL = {
    "type": "function",
    "function": {
        "name": "look_up_order",
        "description": "Looks an order up.",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
    },
}
ASK = [{"role": "user", "content": "Please cancel order 1003 for me."}]


def message(answer):
    choice = answer.choices[0]
    calls = [(call.function.name, call.function.arguments) for call in choice.message.tool_calls or []]
    return {
        "content": choice.message.content,
        "calls": calls,
        "finish": choice.finish_reason,
        "usage": answer.usage.total_tokens,
    }


def streamed(client, model):
    content, calls, finish, usage = "", [], None, None
    stream = client.chat.completions.create(
        model=model,
        messages=ASK,
        tools=[TOOL],
        seed=3,
        max_tokens=40,
        stream=True,
        stream_options={"include_usage": True},
    )
    for chunk in stream:
        usage = chunk.usage.total_tokens if chunk.usage else usage
        for choice in chunk.choices:
            content += choice.delta.content or ""
            calls += [(call.function.name, call.function.arguments) for call in choice.delta.tool_calls or []]
            finish = choice.finish_reason or finish
    return {"content": content, "calls": calls, "finish": finish, "usage": usage}


def refusal(client):
    try:
        client.chat.completions.create(model="nobody", messages=ASK)
    except openai.NotFoundError as error:
        return [error.status_code, error.code]
    return None


def shapes(base_url, model):
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
    create = client.chat.completions.create
    logprobs = (
        create(model=model, messages=ASK, seed=3, max_tokens=2, logprobs=True, top_logprobs=3).choices[0].logprobs
    )
    choice = {"structured_outputs": {"choice": ["yes", "no"]}}
    return {
        "chat": message(create(model=model, messages=ASK, seed=3, max_tokens=40)),
        "tools": message(create(model=model, messages=ASK, tools=[TOOL], tool_choice="auto", seed=3, max_tokens=40)),
        "logprobs": [[t.token, round(t.logprob, 4)] for t in logprobs.content],
        "stream": streamed(client, model),
        "structured": message(create(model=model, messages=ASK, seed=3, max_tokens=4, extra_body=choice)),
        "refusal": refusal(client),
    }


def run(shapes):
    """Prints the answers of each pair of base URL and model on the command line."""
    print(json.dumps([shapes(*place) for place in zip(sys.argv[1::2], sys.argv[2::2], strict=True)]))


if __name__ == "__main__":
    run(shapes)
