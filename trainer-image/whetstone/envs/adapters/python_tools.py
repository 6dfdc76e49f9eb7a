"""OpenAI function tools as Python functions, for libraries that read the schema from signature and docstring."""

from __future__ import annotations

import inspect
import json
import keyword
from collections.abc import Callable
from typing import Any

TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict, "null": type(None)}


def python_type(schema: dict) -> Any:
    """The annotation for a JSON schema; `Any` if Python has none."""
    kind = schema.get("type")
    if kind == "array":
        items = schema.get("items")
        return list[python_type(items)] if isinstance(items, dict) and items.get("type") else list
    return TYPES.get(kind, Any) if isinstance(kind, str) else Any


def tool_function(tool: dict, call: Callable[[Any, str, dict], str]) -> Callable[..., str]:
    """A method with the tool's name, parameters, types and documentation, which calls `call(self, name, arguments)`.

    The docstring has a parameter's allowed values in the form that transformers reads, `(choices: [...])`. The
    signature omits rules that Python's annotations cannot express (bounds, patterns, members of objects). The function
    accepts any arguments, so that the environment, not Python, answers a model's mistakes.

    Raises ValueError for names that are not valid Python names.
    """
    function = tool["function"]
    name, schema = function["name"], function.get("parameters") or {}
    properties, required = schema.get("properties") or {}, set(schema.get("required") or [])
    for identifier in (name, *properties):
        if not identifier.isidentifier() or keyword.iskeyword(identifier):
            raise ValueError(f"Tool {name}: {identifier!r} is no Python name, so it cannot be a method or a parameter.")

    def method(self: Any, **arguments: Any) -> str:
        return call(self, name, arguments)

    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    annotations: dict[str, Any] = {"return": str}
    lines = []
    # In Python, parameters without a default come first.
    for key in sorted(properties, key=lambda key: key not in required):
        annotations[key] = python_type(properties[key])
        default = inspect.Parameter.empty if key in required else None
        parameters.append(
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotations[key])
        )
        lines.append(f"    {key}: {_documentation(key, properties[key])}")
    method.__name__ = method.__qualname__ = name
    method.__doc__ = "\n".join([_line(function.get("description") or name), "", *(["Args:", *lines] if lines else [])])
    method.__annotations__ = annotations
    method.__signature__ = inspect.Signature(parameters, return_annotation=str)
    return method


def _documentation(key: str, schema: dict) -> str:
    text = _line(schema.get("description") or key)
    values = schema.get("enum")
    return f"{text} (choices: {json.dumps(values)})" if isinstance(values, list) else text


def _line(text: str) -> str:
    return " ".join(text.split())
