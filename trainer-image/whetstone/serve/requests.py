"""Reads chat-completion requests, and refuses those that the server cannot answer."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

from whetstone.chat import RawJson
from whetstone.cut_text import start_of

ROLES = ("system", "developer", "user", "assistant", "tool")
MAX_TOP_LOGPROBS = 20
# Choices in structured_outputs.
MAX_CHOICES = 1024
# Parameters of the OpenAI API that would change the distribution. They are refused unless they have the default value.
NEUTRAL = {"n": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0, "logit_bias": {}, "stop": []}


def printable(text: str) -> str:
    """The text with control characters, direction marks and the like escaped, because it may be shown in a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


class ApiError(Exception):
    """An answer in OpenAI's error format."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code

    def body(self) -> dict:
        """The JSON body."""
        kind = (
            "NotFoundError" if self.status == 404 else "invalid_request_error" if self.status < 500 else "server_error"
        )
        return {"error": {"message": printable(str(self)), "type": kind, "param": self.param, "code": self.code}}


@dataclass(frozen=True)
class ChatRequest:
    """A validated request.

    `max_tokens` None means up to the sequence length; `top_logprobs` None means none. `token_ids`: the answer has the
    ids of prompt and completion.
    """

    model: str
    messages: list[dict]
    tools: list[dict] | None
    parse_tools: bool
    temperature: float
    seed: int
    max_tokens: int | None
    top_logprobs: int | None
    choices: list[str] | None
    token_ids: bool
    stream: bool
    stream_usage: bool


def _quoted(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{start_of(text, 80)}..."


def _number(raw: dict, name: str, default, kinds: tuple, low: float, high: float):
    value = raw.get(name)
    if value is None:
        return default
    if not isinstance(value, kinds) or isinstance(value, bool) or not low <= value <= high:
        kind = "a whole number" if kinds == (int,) else "a number"
        raise ApiError(400, f"{name} must be {kind} from {low} to {high}, found {_quoted(value)}", name)
    return value


def _flag(raw: dict, name: str) -> bool:
    value = raw.get(name)
    if not isinstance(value, bool | None):
        raise ApiError(400, f"{name} must be true or false, found {_quoted(value)}", name)
    return bool(value)


def _content(value, where: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(p, dict) and isinstance(p.get("text"), str) for p in value):
        return "".join(part["text"] for part in value)
    raise ApiError(400, f"{where}.content must be a string or a list of text parts", where)


def _message(raw, index: int) -> dict:
    where = f"messages[{index}]"
    role = raw.get("role") if isinstance(raw, dict) else None
    if not isinstance(role, str) or role not in ROLES:
        raise ApiError(400, f"{where} must be an object with a role among {', '.join(ROLES)}", where)
    message = {
        "role": "system" if role == "developer" else role,
        "content": _content(raw.get("content"), where),
    }
    if role == "assistant":
        calls = raw.get("tool_calls") or []
        if not isinstance(calls, list):
            raise ApiError(400, f"{where}.tool_calls must be a list", where)
        if message["content"] is None and not calls:
            raise ApiError(400, f"{where} is an assistant message without content and without tool calls", where)
        if calls:
            message["tool_calls"] = [_call(call, f"{where}.tool_calls[{i}]") for i, call in enumerate(calls)]
    elif message["content"] is None:
        raise ApiError(400, f"{where}.content is missing", where)
    for extra in ("name", "tool_call_id"):
        if isinstance(raw.get(extra), str):
            message[extra] = raw[extra]
    return message


def _call(raw, where: str) -> dict:
    function = raw.get("function") if isinstance(raw, dict) else None
    if not isinstance(function, dict) or not all(isinstance(function.get(key), str) for key in ("name", "arguments")):
        raise ApiError(400, f"{where}.function must have a name and arguments, both strings", where)
    call = {"name": function["name"], "arguments": RawJson(function["arguments"])}
    return {"id": raw.get("id"), "type": "function", "function": call}


def _choices(raw: dict) -> list[str] | None:
    outputs = raw.get("structured_outputs")
    if outputs is None:
        return None
    choices = outputs.get("choice") if isinstance(outputs, dict) else None
    if choices is None or set(outputs) != {"choice"} or not isinstance(choices, list) or not choices:
        raise ApiError(400, 'structured_outputs must be {"choice": [at least one string]}', "structured_outputs")
    if len(choices) > MAX_CHOICES:
        raise ApiError(400, f"structured_outputs.choice has more than {MAX_CHOICES} strings", "structured_outputs")
    if not all(isinstance(choice, str) and choice for choice in choices):
        raise ApiError(400, "structured_outputs.choice must hold non-empty strings", "structured_outputs")
    return choices


def parse_chat_request(raw) -> ChatRequest:
    """Checks a request body; raises ApiError (400) that names the field. Fields without an effect are ignored."""
    if not isinstance(raw, dict):
        raise ApiError(400, "the body must be a JSON object")
    if not isinstance(raw.get("model"), str):
        raise ApiError(400, "model must be a string; GET /v1/models lists the names", "model")
    messages = raw.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ApiError(400, "messages must be a list with at least one message", "messages")
    for name, neutral in NEUTRAL.items():
        if raw.get(name) not in (None, neutral):
            raise ApiError(400, f"{name} is not supported by this server; leave it out", name)
    tools = raw.get("tools")
    if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
        raise ApiError(400, "tools must be a list of function tools", "tools")
    choice = raw.get("tool_choice")
    if choice is not None and choice != "auto" and choice != "none":
        raise ApiError(400, "tool_choice must be 'auto' or 'none' for this server", "tool_choice")
    top = _number(raw, "top_logprobs", 0, (int,), 0, MAX_TOP_LOGPROBS)
    wanted = _flag(raw, "logprobs")
    if top and not wanted:
        raise ApiError(400, "top_logprobs needs logprobs: true", "top_logprobs")
    limit = _number(raw, "max_completion_tokens", None, (int,), 1, 2**31)
    limit = limit or _number(raw, "max_tokens", None, (int,), 1, 2**31)
    choices = _choices(raw)
    seed = _number(raw, "seed", None, (int,), -(2**63), 2**63 - 1)
    options = raw.get("stream_options") or {}
    return ChatRequest(
        model=raw["model"],
        messages=[_message(message, index) for index, message in enumerate(messages)],
        tools=tools or None,
        parse_tools=choice != "none" and choices is None,
        temperature=float(_number(raw, "temperature", 1.0, (int, float), 0, 2)),
        seed=int.from_bytes(os.urandom(8), "big") if seed is None else seed,
        max_tokens=limit,
        top_logprobs=top if wanted else None,
        choices=choices,
        token_ids=_flag(raw, "return_token_ids"),
        stream=_flag(raw, "stream"),
        stream_usage=isinstance(options, dict) and bool(options.get("include_usage")),
    )
