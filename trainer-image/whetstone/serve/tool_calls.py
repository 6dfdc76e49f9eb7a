"""Hermes-style tool calls in generated text."""

from __future__ import annotations

import json
from dataclasses import dataclass

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_decoder = json.JSONDecoder()
_SPACE = " \t\r\n"


@dataclass(frozen=True)
class ToolCall:
    """A call as generated: `arguments` are the bytes of the JSON object in the text."""

    name: str
    arguments: str


def parse_completion(text: str) -> tuple[str | None, list[ToolCall]]:
    """Content and tool calls of a completion.

    The calls count only when the text ends with them and all are well-formed objects with a `name` and an object of
    `arguments`; text before the first is content. Otherwise the whole text is content.
    """
    start = text.find(OPEN)
    if start < 0:
        return text, []
    calls, at = [], start
    while at < len(text):
        if not text.startswith(OPEN, at):
            return text, []
        end = text.find(CLOSE, at)
        call = _parse_call(text[at + len(OPEN) : end]) if end >= 0 else None
        if call is None:
            return text, []
        calls.append(call)
        at = _skip(text, end + len(CLOSE))
    return text[:start].strip() or None, calls


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _parse_call(body: str) -> ToolCall | None:
    """Reads `{"name": ..., "arguments": {...}}` key by key, to keep the arguments' exact text."""
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
                return None
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
