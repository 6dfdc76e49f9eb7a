"""Tool calls in generated text, in the form of the Hermes models: `<tool_call>{...}</tool_call>`."""

from __future__ import annotations

import json
from dataclasses import dataclass

TOOL_CALL_OPEN, TOOL_CALL_CLOSE = "<tool_call>", "</tool_call>"
_decoder = json.JSONDecoder()
_SPACE = " \t\r\n"


@dataclass(frozen=True)
class ToolCall:
    """A call as the model wrote it. `arguments` is the JSON object's own text, `{}` for none; `id` may be empty."""

    name: str
    arguments: str
    id: str = ""


def parse_completion(text: str) -> tuple[str | None, list[ToolCall]]:
    """Splits a completion into its content (None when there is none) and its tool calls.

    Calls count only when the text ends with them and each is a well-formed object with a `name` and an object
    `arguments`. Null and empty text are no arguments. The text before the first call is then the content. Otherwise the
    whole text is content.
    """
    start = text.find(TOOL_CALL_OPEN)
    if start < 0:
        return text, []
    calls, at = [], start
    while at < len(text):
        if not text.startswith(TOOL_CALL_OPEN, at):
            return text, []
        end = text.find(TOOL_CALL_CLOSE, at)
        call = _parse_call(text[at + len(TOOL_CALL_OPEN) : end]) if end >= 0 else None
        if call is None:
            return text, []
        calls.append(call)
        at = _skip(text, end + len(TOOL_CALL_CLOSE))
    return text[:start].strip() or None, calls


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _parse_call(body: str) -> ToolCall | None:
    """Reads `{"name": ..., "arguments": {...}}` key by key, so that the arguments keep their exact text."""
    fields: dict[str, str] = {}
    name = None
    try:
        at = _skip(body, 0)
        if body[at] != "{":
            return None
        at += 1
        while True:
            key, at = _decoder.raw_decode(body, _skip(body, at))
            at = _skip(body, at)
            if not isinstance(key, str) or key in fields or body[at] != ":":
                return None
            start = _skip(body, at + 1)
            value, at = _decoder.raw_decode(body, start)
            fields[key] = body[start:at]
            if key == "name":
                name = value
            elif key == "arguments" and not isinstance(value, dict):
                if value is not None and value != "":
                    return None
                fields[key] = "{}"
            at = _skip(body, at)
            if body[at] == "}":
                break
            if body[at] != ",":
                return None
            at += 1
        if _skip(body, at + 1) != len(body):
            return None
    except (ValueError, IndexError, RecursionError):
        return None
    if not isinstance(name, str) or not name or "arguments" not in fields:
        return None
    return ToolCall(name, fields["arguments"])
