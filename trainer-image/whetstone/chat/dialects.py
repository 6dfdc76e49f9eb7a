"""How model families write tool calls and reasoning: the library's description of each, and the choice among them.

A description is a `response_template` of transformers (utils/chat_parsing). TRL has one for each family that it knows,
and a tokenizer may bring its own. Hermes JSON has none here: the policy server reads it without transformers, and both
must read alike (tool_calls.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .tool_calls import TOOL_CALL_OPEN

THINK_OPEN = "<think>"
# The text that a family's chat template writes around a call. Where several match, the first one counts.
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
    library; without one, calls are Hermes JSON. `thinks`: the model may write reasoning between `<think>` marks.
    """

    name: str
    opens: re.Pattern | None = None
    template: dict | None = field(default=None, compare=False)
    thinks: bool = False


def dialect_of(chat_template: str, own: dict | None) -> Dialect:
    """The dialect of a checkpoint, from the marks in its chat template.

    Fine-tuned checkpoints change their templates, so a comparison with the vendor's text would miss them. `own` is the
    response template that the tokenizer brings; it comes first.
    """
    if own:
        calls = own.get("fields", {}).get("tool_calls", {})
        opens = calls.get("open_pattern") or (re.escape(calls["open"]) if "open" in calls else None)
        return Dialect("own", re.compile(opens) if opens else None, own)
    from trl import chat_template_utils as library

    thinks, name = THINK_OPEN in chat_template, family_of(chat_template)
    if name is None:
        return Dialect("text", thinks=thinks)
    template = {
        "gemma4": library.gemma4_template,
        "lfm2": library.lfm2_2_5_template,
        "gpt-oss": _gpt_oss(library.gptoss_template),
        "mistral": MISTRAL_NAMES if "[ARGS]" in chat_template else MISTRAL_LIST,
        "qwen3.5": library.qwen3_5_template,
        "glm": library.glm4moe_template,
        "hermes": None,
        "llama3": library.llama3_template,
    }[name]
    return Dialect(name, re.compile(dict(MARKS)[name]), template, thinks)


def family_of(chat_template: str) -> str | None:
    """The family whose way of writing calls the template has, a name of MARKS; None: it writes no calls."""
    return next((name for name, mark in MARKS if re.search(mark, chat_template)), None)


def _gpt_oss(template: dict) -> dict:
    """TRL's description reads a call as the chat template renders it; the models write two more forms of its header."""
    header = r"to=functions\.(?P<name>[^\s<]+)\s*(?:<\|channel\|>commentary)?\s*(?:<\|constrain\|>)?(?:json)?\s*"
    calls = template["fields"]["tool_calls"] | {"open_pattern": header + r"<\|message\|>"}
    return template | {"fields": template["fields"] | {"tool_calls": calls}}


def _mistral(calls: dict) -> dict:
    content = {"close_pattern": r"</s>\s*", "content": "text"}
    fields = {"tool_calls": {"content": "json", **calls}, "content": content}
    return {"defaults": {"role": "assistant"}, "start_anchor": "[/INST]", "fields": fields}


# TRL describes no Mistral. The models up to Nemo write one JSON list of calls; later ones write `name[ARGS]{...}`.
MISTRAL_LIST = _mistral({"open_pattern": r"\[TOOL_CALLS\]\s*(?=\[)", "close_pattern": r"</s>\s*"})
MISTRAL_NAMES = _mistral(
    {
        "open_pattern": r"\[TOOL_CALLS\]\s*(?P<name>[^\s\[]+)\s*(?:\[CALL_ID\][^\s\[]+)?\[ARGS\]",
        "close_pattern": r"(?=\[TOOL_CALLS\])|</s>\s*",
        "repeats": True,
        "transform": {"name": "{name}", "arguments": "{content}"},
    }
)
