"""Tool calls in generated text, read as vLLM's parser for the family reads them.

The server's parser decides what was played in collection and evaluation. So the trainer and the policy server take what
it takes, and leave what it leaves (vLLM 0.32, answers that are not streamed).
"""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass

TOOL_CALL_OPEN = "<tool_call>"
# Most levels of nested objects and lists in the arguments of a call. The protocol allows 64 in a request.
MAX_ARGUMENT_LEVELS = 48
_decoder = json.JSONDecoder()
_SPACE = " \t\r\n"
_HERMES = re.compile(r"<tool_call>(.*?)</tool_call>|<tool_call>(.*)", re.DOTALL)
MISTRAL_OPEN = "[TOOL_CALLS]"


@dataclass(frozen=True)
class ToolCall:
    """A call as the model wrote it. `arguments` is a text, mostly of a JSON object; `id` may be empty."""

    name: str
    arguments: str
    id: str = ""


# Content and calls of a reply. The content is None where there is none.
Read = tuple[str | None, list[ToolCall]]


def call_arguments(text: str) -> dict | None:
    """The arguments of a call as an object; None when they are no JSON object, or nest too deep for an environment.

    Empty text, `null` and `""` mean no arguments. Halves of surrogate pairs are replaced. Collection reads them alike
    (activities/rollout/sent-messages.ts).
    """
    if text.strip() in ("", "null", '""'):
        return {}
    try:
        written = json.dumps(json.loads(text), allow_nan=False, ensure_ascii=False)
        value = json.loads(well_formed(written))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _has_levels(value, MAX_ARGUMENT_LEVELS) else None


def well_formed(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair, which no tokenizer takes."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def _has_levels(value: object, room: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return room > 0 and all(_has_levels(one, room - 1) for one in inner)


def read_hermes(text: str) -> Read:
    """`<tool_call>{"name": ..., "arguments": ...}</tool_call>`, of which the last one need not be closed.

    The text before the first call is the content; text behind and between calls is dropped. Where one call cannot be
    read, the whole text is content. Arguments keep their exact text.
    """
    start = text.find(TOOL_CALL_OPEN)
    if start < 0:
        return text, []
    bodies = [closed or last for closed, last in _HERMES.findall(text)]
    calls = [_hermes_call(body) for body in bodies]
    return (text, []) if None in calls else (text[:start].strip() or None, calls)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _hermes_call(body: str) -> ToolCall | None:
    """Reads an object key by key, so that the arguments keep their exact text. Of equal keys the last one counts."""
    values: dict[str, object] = {}
    texts: dict[str, str] = {}
    try:
        at = _skip(body, 0)
        if body[at] != "{":
            return None
        at += 1
        while True:
            key, at = _decoder.raw_decode(body, _skip(body, at))
            at = _skip(body, at)
            if not isinstance(key, str) or body[at] != ":":
                return None
            start = _skip(body, at + 1)
            values[key], at = _decoder.raw_decode(body, start)
            texts[key] = body[start:at]
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
    if not isinstance(values.get("name"), str) or "arguments" not in values:
        return None
    return ToolCall(values["name"], "{}" if values["arguments"] in (None, "") else texts["arguments"])


def read_llama3(text: str) -> Read:
    """JSON objects with `name` and `parameters` or `arguments`, anywhere in the text; all other text is dropped.

    Where one object is no call, or one brace begins no object, the whole text is content.
    """
    calls, end = [], -1
    for found in re.finditer(r"\{", text):
        # The brace that follows an object at once is passed over, as vLLM does.
        if found.start() <= end:
            continue
        try:
            value, length = _decoder.raw_decode(text[found.start() :])
            arguments = value["arguments"] if "arguments" in value else value["parameters"]
            calls.append(_call(value["name"], arguments))
        except (ValueError, KeyError, RecursionError):
            return text, []
        end = found.start() + length
    return (None, calls) if calls else (text, [])


def read_mistral_list(text: str) -> Read:
    """`[TOOL_CALLS] [{"name": ..., "arguments": ...}]`: the models up to Nemo write one JSON list of calls."""
    if MISTRAL_OPEN not in text:
        return text, []
    content, *segments = text.split(MISTRAL_OPEN)
    listed = next((segment.strip() for segment in segments if segment.strip()), "")
    try:
        value, _ = _decoder.raw_decode(listed)
    except (ValueError, RecursionError):
        try:
            value = json.loads(re.search(r"\[{.*}\]", listed, re.DOTALL)[0])
        except (ValueError, TypeError, RecursionError):
            return text, []
    entries = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
    entries = [entry for entry in entries if isinstance(entry, dict) and ("name" in entry or "arguments" in entry)]
    if not entries:
        return text, []
    calls = []
    for entry in entries:
        name, arguments, own = entry.get("name"), entry.get("arguments"), entry.get("id")
        call = _call(name if isinstance(name, str) else "", arguments)
        # Arguments that are a text are taken as the JSON that the text holds.
        written = arguments if isinstance(arguments, str) else call.arguments
        known = isinstance(own, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", own)
        calls.append(ToolCall(call.name, written, own if known else ""))
    return content.strip() or None, calls


def read_mistral_names(text: str) -> Read:
    """`[TOOL_CALLS]name[ARGS]{...}`, once for each call: the later models. Text behind the object is dropped."""
    content, *segments = text.split(MISTRAL_OPEN)
    calls = []
    for segment in segments:
        # No two runs of it overlap, so its time grows with the text's length alone.
        found = re.match(r"([^\[{]*)(?:\[CALL_ID\]([^\s\[]+)\s*)?(?:\[ARGS\]|(?=\{))(.*)", segment, re.DOTALL)
        if found is None:
            continue
        name, own, written = found[1].strip(), found[2] or "", found[3].strip()
        try:
            _, end = _decoder.raw_decode(written)
        except (ValueError, RecursionError):
            end = len(written)
        calls.append(ToolCall(name, written[:end] or "{}", own))
    return (content.strip() or None, calls) if calls else (text, [])


def read_lfm2(text: str) -> Read:
    """`<|tool_call_start|>[name(key='value')]<|tool_call_end|>`, as Python writes calls."""
    before, opened, rest = text.partition("<|tool_call_start|>")
    if not opened:
        return text, []
    # The model sometimes writes the calls again, and closes them a second time.
    written, *further = rest.split("<|tool_call_end|>")
    try:
        calls = [_python_call(one) for one in _python_list(written.strip())]
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text, []
    parts = [part for part in (before.strip(), further[-1].strip() if further else "") if part]
    return "\n".join(parts) or None, calls


# A text, a parameter that is a word of Python, and a number with leading zeros. A text without an end goes to the last
# character: otherwise each quote behind it would be tried as a beginning.
_ODD_PYTHON = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*(?:'|\\?\Z)|"(?:\\.|[^"\\])*(?:"|\\?\Z))"""
    rf"|(?<=[(,\s])(?P<word>{'|'.join(keyword.kwlist)})(?=\s*=(?!=))"
    r"|(?<![\w.])0+(?P<number>[1-9][\d_]*)(?![\w.])",
    re.DOTALL,
)
_WORD = "_word_of_python"
_ESCAPED = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\x00"})


def _python_list(text: str) -> list[ast.expr]:
    """The calls of a list. Raises ValueError and SyntaxError."""
    if not text.startswith("[") or not text.endswith("]"):
        raise ValueError("no list")
    try:
        parsed = ast.parse(text)
    except (ValueError, SyntaxError):
        parsed = ast.parse(_ODD_PYTHON.sub(_usual_python, text))
    listed = getattr(parsed.body[0], "value", None)
    if not isinstance(listed, ast.List) or not listed.elts:
        raise ValueError("no list of calls")
    return listed.elts


def _usual_python(odd: re.Match) -> str:
    if odd["text"]:
        return odd["text"].translate(_ESCAPED)
    return odd["word"] + _WORD if odd["word"] else odd["number"]


def _python_call(call: ast.expr) -> ToolCall:
    """A call with its named arguments; others are dropped. Raises ValueError for what is none."""
    if not isinstance(call, ast.Call):
        raise ValueError("no call")
    names, function = [], call.func
    while isinstance(function, ast.Attribute):
        names.append(function.attr)
        function = function.value
    if not isinstance(function, ast.Name):
        raise ValueError("no name")
    named = {(one.arg or "null").removesuffix(_WORD): _python_value(one.value) for one in call.keywords}
    return _call(".".join([function.id, *reversed(names)]), named)


def _python_value(node: ast.expr) -> object:
    """A value of JSON, written as Python writes it. Raises ValueError for all else."""
    match node:
        case ast.Constant(value=None | str() | int() | float()):
            return node.value
        case ast.Dict() if all(isinstance(key, ast.Constant) for key in node.keys):
            return {_python_value(key): _python_value(value) for key, value in zip(node.keys, node.values, strict=True)}
        case ast.List() | ast.Tuple() | ast.Set():
            return [_python_value(one) for one in node.elts]
        case ast.JoinedStr() if all(isinstance(part, ast.Constant) for part in node.values):
            return "".join(str(part.value) for part in node.values)
        case ast.Name(id="null" | "true" | "false"):
            return json.loads(node.id)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            number = _python_value(node.operand)
            if isinstance(number, int | float) and not isinstance(number, bool):
                return -number if isinstance(node.op, ast.USub) else number
    raise ValueError("no value of JSON")


def read_harmony(text: str) -> tuple[str | None, str | None, list[ToolCall]]:
    """Content, reasoning and calls of gpt-oss, which writes messages with a header each.

    A message to a function is a call, whatever its channel and its text. The last message need not be closed.
    """
    if "<|message|>" not in text:
        return text, None, []
    said, thought, calls = [], [], []
    for message in text.split("<|start|>"):
        header, _, body = message.partition("<|message|>")
        body = re.split(r"<\|(?:end|call|return)\|>", body)[0]
        channel, to = (re.search(form, header) for form in (r"<\|channel\|>\s*(\w+)", r"\bto=([^\s<]+)"))
        if to is not None and to[1] != "assistant" and to[1].split(".")[0] not in _BUILT_IN:
            calls.append(ToolCall(to[1].removeprefix("functions."), body))
        elif channel is not None and channel[1] == "analysis":
            thought.append(body)
        elif channel is not None and to is None:
            said.append(body)
    return "\n".join(filter(None, said)) or None, "\n".join(filter(None, thought)) or None, calls


# Tools of gpt-oss itself.
_BUILT_IN = ("python", "browser", "container")


def _call(name: object, arguments: object) -> ToolCall:
    """A call from values of JSON. Raises ValueError for a name that is no text."""
    if not isinstance(name, str):
        raise ValueError("the name of a call is no text")
    return ToolCall(name, "{}" if arguments in (None, "") else compact(arguments))


def compact(value: object) -> str:
    """JSON text without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def reader_of(family: str | None, chat_template: str) -> Callable[[str], Read] | None:
    """What reads the calls of a family (dialects.py); None: the family is read in another way, or writes no calls."""
    if family == "mistral":
        return read_mistral_names if "[ARGS]" in chat_template else read_mistral_list
    return {"hermes": read_hermes, "llama3": read_llama3, "lfm2": read_lfm2}.get(family)
