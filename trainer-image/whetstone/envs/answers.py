"""The allowed content of a response line: the schemas of ``contracts/messages/environment-protocol.ts`` as predicates.

The environment's code shares a process with the runtime and can write to the response channel itself. So no property of
an answer is certain until it was checked here. Standard library only.
"""

import json
import re

from .runtime.checks import is_function_name, is_message
from .runtime.limits import API_VERSION, MAX_CALLS, MAX_NAME_CHARS, MAX_TAGS, MAX_TOOLS

ERROR_TYPES = ("BadRequest", "EnvironmentRaised", "BadReturn", "NoSuchEpisode", "NotRun")
ERROR_CHARS = 4000
# In a line, a result is inside a few objects and lists of the protocol.
ENVELOPE_DEPTH = 8


def read_answer(line, identifier, requests, single, depth):
    """Outcomes ({"result"} or {"error"}) of the requests ({"method", "params"}) in line `identifier`; None if the
    response line (bytes) is not a correct answer to them.

    single: the line had one request and no batch. depth: allowed nesting of results.
    """
    try:
        document = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    if nests_deeper_than(document, depth + ENVELOPE_DEPTH) or not isinstance(document, dict):
        return None
    # For Python, True equals 1.
    found = document.pop("id", None)
    if type(found) is not int or found != identifier or not _is_outcome(document):
        return None
    if "error" in document:
        # A whole line is never postponed, only requests of a batch, and the first of them always runs.
        return None if is_not_run(document) else [document] * len(requests)
    outcomes = [document] if single else document["result"].get("results")
    if not isinstance(outcomes, list) or len(outcomes) != len(requests) or not all(map(_is_outcome, outcomes)):
        return None
    pairs = zip(requests, outcomes, strict=True)
    valid = all("error" in outcome or _is_result(request, outcome["result"]) for request, outcome in pairs)
    return outcomes if valid else None


def is_not_run(outcome):
    """Whether a request of a batch was postponed because the response line was full. It had no effect."""
    return "error" in outcome and outcome["error"]["type"] == "NotRun"


def nests_deeper_than(value, limit):
    """Whether parsed JSON has more than `limit` nested lists and objects, because later readers walk values
    recursively.
    """
    level = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            if isinstance(parent, dict | list)
            for child in (parent.values() if isinstance(parent, dict) else parent)
        ]
    return any(isinstance(value, dict | list) for value in level)


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def _is_outcome(outcome):
    if _has_keys(outcome, "result"):
        return isinstance(outcome["result"], dict)
    return _has_keys(outcome, "error") and _is_error(outcome["error"])


def _is_error(error):
    return (
        _has_keys(error, "type", "message", "traceback")
        and error["type"] in ERROR_TYPES
        and _is_text(error["message"], ERROR_CHARS)
        and (error["traceback"] is None or _is_text(error["traceback"], ERROR_CHARS))
    )


def _is_result(request, result):
    is_valid = _RESULTS.get(request["method"])
    return is_valid is not None and is_valid(result, request["params"])


def _has_keys(value, *keys):
    return isinstance(value, dict) and value.keys() == set(keys)


def _is_text(value, most=None):
    return isinstance(value, str) and (most is None or len(value) <= most)


def _is_list(value, is_item, most=None, least=0):
    return (
        isinstance(value, list)
        and least <= len(value)
        and (most is None or len(value) <= most)
        and all(map(is_item, value))
    )


def _is_load(result, _params):
    return (
        _has_keys(result, "apiVersion", "sha256", "python")
        and type(result["apiVersion"]) is int
        and result["apiVersion"] == API_VERSION
        and _is_text(result["sha256"])
        and re.fullmatch("[0-9a-f]{64}", result["sha256"]) is not None
        and _is_text(result["python"], 40)
    )


def _is_tool(tool):
    function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
    return (
        isinstance(function, dict)
        and is_function_name(function.get("name"))
        and isinstance(function.get("description", ""), str)
        and isinstance(function.get("parameters", {}), dict)
    )


def _is_describe(result, _params):
    return (
        _has_keys(result, "tools", "hasSay", "hasHints")
        and _is_list(result["tools"], _is_tool, MAX_TOOLS, least=1)
        and isinstance(result["hasSay"], bool)
        and isinstance(result["hasHints"], bool)
    )


def _is_reset(result, _params):
    return (
        _has_keys(result, "messages", "tags")
        and _is_list(result["messages"], is_message, least=1)
        and _is_list(result["tags"], _is_text, MAX_TAGS)
    )


def _is_step(result, params):
    """One observation for each call, up to the call that ends the episode; one for a text."""
    if not _has_keys(result, "observations", "done") or not isinstance(result["done"], bool):
        return False
    asked = len(params["calls"]) if "calls" in params else 1
    least = min(1, asked) if result["done"] else asked
    return _is_list(result["observations"], _is_text, asked, least)


def _is_reward(result, _params):
    if not _has_keys(result, "reward", "diagnostics") or not isinstance(result["diagnostics"], dict):
        return False
    reward = result["reward"]
    known = all(mark in ("lacking", "present") for mark in result["diagnostics"].values())
    # A bool is an int in Python. NaN cannot be written, and infinity, the value of 1e999, is above 1.
    return known and type(reward) in (int, float) and 0 <= reward <= 1


def _is_call(call):
    return (
        _has_keys(call, "name", "arguments")
        and _is_text(call["name"], MAX_NAME_CHARS)
        and isinstance(call["arguments"], dict)
    )


def _is_move(move):
    return _is_call(move) or (_has_keys(move, "text") and isinstance(move["text"], str))


_RESULTS = {
    "load": _is_load,
    "describe": _is_describe,
    "reset": _is_reset,
    "step": _is_step,
    "evaluate": _is_reward,
    "drop": lambda result, _: result == {},
    "task": lambda result, _: _has_keys(result, "task") and isinstance(result["task"], dict),
    "reference": lambda result, _: _has_keys(result, "calls") and _is_list(result["calls"], _is_move, MAX_CALLS),
    "hints": lambda result, _: _has_keys(result, "hints") and _is_list(result["hints"], _is_text),
}
