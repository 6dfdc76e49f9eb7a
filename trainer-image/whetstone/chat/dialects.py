"""How model families write tool calls and reasoning, and the choice among them.

tool_calls.py reads most families. The others have a description: a `response_template` of transformers
(utils/chat_parsing), from TRL or from the tokenizer itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from whetstone.engine import ModelError

from .tool_calls import TOOL_CALL_OPEN, Read, reader_of

THINK_OPEN = "<think>"
# The text that a family's chat template writes around a call. If several match, the first one counts.
MARKS = (
    ("gemma4", r"<\|tool_call>"),
    ("lfm2", r"<\|tool_call_start\|>"),
    ("gpt-oss", r"to=functions\.|<\|channel\|>commentary"),
    ("mistral", r"\[TOOL_CALLS\]"),
    ("qwen3.5", r"<function="),
    ("glm", r"<tool_call>\S*\s*<arg_key>|<arg_key>"),
    ("hermes", TOOL_CALL_OPEN),
    ("llama3", r'"parameters": '),
)


@dataclass(frozen=True)
class Dialect:
    """How a family writes tool calls and reasoning.

    `opens` finds the beginning of a call; None: the family writes no calls. `template` describes the completions to the
    library, and `read` reads them without it; neither: gpt-oss, or a family without calls. `thinks`: the model may
    write reasoning between `<think>` marks.
    """

    name: str
    opens: re.Pattern | None = None
    template: dict | None = field(default=None, compare=False)
    read: Callable[[str], Read] | None = None
    thinks: bool = False


# What a model writes between its marks of reasoning. The template may have opened them already.
_THOUGHT = re.compile(r"\s*<think>(.*?)(?:</think>\s*|$)", re.DOTALL)


def split_thought(begun: str, text: str) -> tuple[str | None, str]:
    """The reasoning of a reply, None without any, and the rest of its text. `begun` is the text before the reply."""
    if begun.rstrip().endswith(THINK_OPEN):
        text = THINK_OPEN + text
    found = _THOUGHT.match(text)
    return (found[1].strip() or None, text[found.end() :]) if found else (None, text)


def dialect_of(chat_template: str, own: dict | None) -> Dialect:
    """The dialect of a checkpoint, from the marks in its chat template.

    Fine-tuned checkpoints change their templates, so a comparison with the vendor's text would not find them. `own` is
    the tokenizer's response template, which has priority.
    """
    if own:
        calls = own.get("fields", {}).get("tool_calls", {})
        opens = calls.get("open_pattern") or (re.escape(calls["open"]) if "open" in calls else None)
        return Dialect("own", re.compile(opens) if opens else None, own)
    name = family_of(chat_template)
    if name is None or reader_of(name, chat_template):
        return plain_dialect_of(chat_template, None)
    return Dialect(name, re.compile(dict(MARKS)[name]), _description(name), None, THINK_OPEN in chat_template)


def _description(name: str) -> dict | None:
    from trl import chat_template_utils as library

    return {
        "gemma4": library.gemma4_template,
        "qwen3.5": library.qwen3_5_template,
        "glm": library.glm4moe_template,
    }.get(name)


def plain_dialect_of(chat_template: str, own: dict | None) -> Dialect:
    """The dialect of a checkpoint whose replies are read without transformers.

    Raises ModelError for one whose replies only transformers can read.
    """
    name = None if own else family_of(chat_template)
    read = reader_of(name, chat_template)
    if own or (name is not None and read is None):
        raise ModelError(
            f"the built-in policy server does not read the tool calls that the model's chat template writes"
            f" ({name or 'by a response_template of its own'}): set model.server to vllm"
        )
    opens = re.compile(dict(MARKS)[name]) if name else None
    return Dialect(name or "text", opens, None, read, THINK_OPEN in chat_template)


def family_of(chat_template: str) -> str | None:
    """The family whose tool calls look like the template's (a name of MARKS). None: the template writes no calls."""
    return next((name for name, mark in MARKS if re.search(mark, chat_template)), None)
