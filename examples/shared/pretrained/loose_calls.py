"""Tool calls as small models write them: JSON without tags, in a block of code, in several tags, one or more."""

import json
import re

WRAPPERS = re.compile(r"</?tool_calls?>|</?tools>|```(?:json)?")
# Braces that a small model may forget at the end.
FORGOTTEN = ("", "}", "}}")
_decoder = json.JSONDecoder()


def read_calls(text: str) -> list[dict]:
    """The calls that the text consists of, as {"name", "arguments"}; empty where it begins with anything else.

    `{"name", "arguments"}`, `{"function": NAME, "arguments"}` and `{"function": {"name", "arguments"}}` are calls.
    Text behind the last call is dropped.
    """
    rest, calls = WRAPPERS.sub(" ", text).strip(), []
    while rest.startswith(("{", "[")):
        value, end = _first_value(rest)
        found = [_call(one) for one in (value if isinstance(value, list) else [value])]
        if not found or None in found:
            break
        calls += found
        rest = rest[end:].lstrip(" \r\n\t,;")
    return calls


def _first_value(text: str) -> tuple[object, int]:
    """The JSON at the beginning of a text and its length; (None, 0) if there is none."""
    # Doubled braces come from a template that escapes them for another one.
    for written in (text, text.replace("{{", "{").replace("}}", "}")):
        for braces in FORGOTTEN:
            try:
                value, end = _decoder.raw_decode(written + braces)
            except (ValueError, RecursionError):
                continue
            return value, len(text) if written != text else end
    return None, 0


def _call(value: object) -> dict | None:
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        return None
    name, arguments = value.get("name", value.get("function")), value.get("arguments", value.get("parameters"))
    return {"name": name, "arguments": arguments} if isinstance(name, str) and isinstance(arguments, dict) else None
