"""Conversations for the trainer's rollouts: prompts, replies read from tokens, and the tokens after a reply.

Prompts are rendered by the checkpoint's own chat template, as the policy server renders them, so that training reads
what serving reads. vLLM differs in one point: it takes control tokens in texts for its own (control_tokens.py). Replies
are read as vLLM reads them (tool_calls.py, dialects.py). A rollout grows by the tokens that were sampled and by those
that the template puts between two turns; nothing that was sampled is rendered again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import jinja2

from whetstone.engine import ModelError

from .dialects import Dialect, dialect_of, split_thought
from .template import Chat, RawJson
from .tool_calls import ToolCall, compact, read_harmony, well_formed

# Replaces the agent's text in a rendered conversation, to find its place. No chat template writes this text.
_MARK = "q7whetstone7mark7q"
# The template writes `<|end|>` after an answer that the model ended with `<|return|>` (gpt-oss).
_TURN_ENDS = ("<|end|>",)
# Number of tokens at a prompt's end that the response parser gets, since the template may have begun the agent's turn
# there.
_OPENING_TOKENS = 64
# Largest number of environment answers whose tokens are cached.
CACHED_BRIDGES = 4096
# Most prompts whose tokens are cached. The rollouts of a group share one.
CACHED_PROMPTS = 256
# Observations with more characters are not cached: thousands of them would take gigabytes.
LONGEST_KEPT = 4096


class TextTooLong(Exception):
    """A text of an environment that cannot fit into the model's length. It was not tokenized."""


@dataclass(frozen=True)
class Reply:
    """A reply of the agent. `reasoning` is None if it has none.

    `closed`: it ended with a token that ends turns, not at the token limit. `begins_call`: it calls a tool, or at least
    begins a malformed call.
    """

    content: str
    reasoning: str | None
    calls: tuple[ToolCall, ...]
    closed: bool
    begins_call: bool


class Renderer:
    """Renders and reads the conversations of one checkpoint directory.

    `limit` is the model's length in tokens; None: there is no limit. Raises TextTooLong for a text that certainly has
    more tokens, and for a word with more than twice as many characters. Neither is tokenized, because the time for a
    word may grow with the square of its length.

    Raises ModelError if the directory has no readable tokenizer or no chat template.
    """

    def __init__(self, directory: Path) -> None:
        self.chat = Chat(directory)
        self.limit: int | None = None
        self.end_ids = frozenset(self.chat.end_ids())
        self.dialect: Dialect = dialect_of(self.chat.source, self.chat.response_template)
        self._directory = directory
        self._ends = [end for token in sorted(self.end_ids) if (end := self.chat.decode([token]))]
        self._ends += [end for end in _TURN_ENDS if end in self.chat.source]
        self._names_calls = re.search(r"tool_call_id|\bid\b", self.chat.source) is not None
        self._encoded = lru_cache(CACHED_PROMPTS)(self._encode)
        self._bridge = lru_cache(CACHED_BRIDGES)(self._make_bridge)
        if not self._ends:
            raise ModelError(f"{directory} names no token that ends a turn: set eos_token_id in generation_config.json")

    def prompt(self, messages: list[dict], tools: list[dict] | None) -> list[int]:
        """Token ids of a conversation up to the beginning of the agent's turn.

        Raises ModelError and TextTooLong.
        """
        return list(self._encoded(self._render(messages, tools)))

    def read(self, prompt: Sequence[int], completion: Sequence[int], tools: list[dict] | None, turn: int = 0) -> Reply:
        """Reads a completion. `prompt` is the text before it; `turn` makes the ids of its calls unique in a rollout.

        If its calls are malformed, the whole completion is content.
        """
        closed = bool(completion) and completion[-1] in self.end_ids
        own = list(completion[:-1] if closed else completion)
        text = self.chat.decode(own)
        begins = self.dialect.opens is not None and self.dialect.opens.search(text) is not None
        if self.dialect.template is not None:
            end = self.chat.decode(completion[-1:]) if closed else ""
            content, reasoning, calls = self._read_described(prompt, text, end, tools, begins)
        elif self.dialect.name == "gpt-oss":
            content, reasoning, calls = read_harmony(text)
        else:
            content, reasoning, calls = self._read_text(prompt, text)
        return Reply(content or "", reasoning, _named(calls, turn), closed, begins or bool(calls))

    def bridge(self, reply: Reply, observations: list[str]) -> list[int]:
        """The tokens between a reply and the next one: the end of its turn, the observations, and the next opening.

        A closed reply already has the end of its turn. Observations answer the reply's calls; after a reply without
        calls they are messages of the user. Raises ModelError and TextTooLong.
        """
        # The key has no arguments, and no ids if the template omits them: rollouts with the same answer share a bridge.
        calls = tuple(ToolCall(call.name, "{}", call.id if self._names_calls else "") for call in reply.calls)
        is_short = sum(map(len, observations)) <= LONGEST_KEPT
        return list((self._bridge if is_short else self._make_bridge)(calls, tuple(observations))[reply.closed])

    def call_turn(self, name: str, arguments: dict) -> list[int]:
        """A turn with one call of the agent, in the template's form, with its end.

        Raises ModelError and TextTooLong.
        """
        message = self._assistant((ToolCall(name, compact(arguments), _call_id(0, 0)),))
        answer = {"role": "tool", "name": name, "tool_call_id": _call_id(0, 0), "content": "x"}
        return self._turn(message, answer, self.chat.guarded(name, "tool"))

    def text_turn(self, text: str) -> list[int]:
        """A turn in which the agent says something without a call, in the template's form, with its end.

        Raises ModelError and TextTooLong.
        """
        message = {"role": "assistant", "content": text}
        return self._turn(message, {"role": "user", "content": "x"}, self.chat.guarded(text, "assistant"))

    def _turn(self, message: dict, answer: dict, written: str) -> list[int]:
        """The tokens of an agent's message and of the end of its turn: the first end of a turn after `written`.

        `written` is a text of the message as it is rendered.
        """
        opening = {"role": "user", "content": "x"}
        before, text = self._render([opening], None), self._render([opening, message, answer], None)
        if not text.startswith(before):
            raise self._unusable("does not continue its own opening of a turn")
        turn = text.removeprefix(before)
        found = turn.find(written)
        # A template may change white space around the text. An end of a turn in the text is marked.
        _, end = self._end_after(turn, 0 if found < 0 else found + len(written))
        return self._encode(turn[:end])

    def _encode(self, text: str) -> list[int]:
        if self.limit is not None and not self.chat.fits(text, self.limit):
            raise TextTooLong(f"a text of {len(text)} characters cannot fit into the {self.limit} tokens of the model")
        return self.chat.encode(text)

    def check_calls(self) -> None:
        """Raises ModelError unless the template writes tool calls and tool messages, and its calls are readable."""
        self.bridge(Reply("", None, (ToolCall("look", "{}", _call_id(0, 0)),), True, True), ["x"])
        if self.dialect.opens is None:
            raise self._unusable("writes tool calls in a form that is not known here")

    def _read_text(self, prompt: Sequence[int], text: str) -> tuple[str | None, str | None, list[ToolCall]]:
        reasoning = None
        if self.dialect.thinks:
            reasoning, text = split_thought(self.chat.decode(list(prompt[-_OPENING_TOKENS:])), text)
        content, calls = (text, []) if self.dialect.read is None else self.dialect.read(text)
        return content, reasoning, calls

    def _read_described(
        self, prompt: Sequence[int], text: str, end: str, tools: list[dict] | None, begins: bool
    ) -> tuple[str, str | None, list[ToolCall]]:
        from transformers.utils.chat_parsing import parse_response

        begun = self.chat.decode(list(prompt[-_OPENING_TOKENS:]))
        try:
            message = parse_response(text + end, self.dialect.template, prefix=begun, tools=tools)
            calls = _calls(message.get("tool_calls") or []) if begins and end else []
            if begins and not calls:
                return text, None, []
        except (ValueError, TypeError, KeyError, RecursionError):
            return text, None, []
        content = message.get("content") or ""
        reasoning = message.get("reasoning_content") or message.get("thinking") or None
        if not content and not reasoning and not calls:
            return text, None, []
        return content.removesuffix(end) if end else content, reasoning, calls

    def _make_bridge(self, calls: tuple[ToolCall, ...], observations: tuple[str, ...]) -> tuple[list[int], list[int]]:
        """Two bridges: after a reply without its own end, and after a reply with it."""
        opening = {"role": "user", "content": "x"}
        if not calls:
            said = [opening, {"role": "assistant", "content": _MARK}]
            text = self._render([*said, *({"role": "user", "content": one} for one in observations)], None)
        else:
            answers = [
                {"role": "tool", "name": call.name, "tool_call_id": call.id, "content": observation}
                for call, observation in zip(calls, observations, strict=False)
            ]
            try:
                text = self._render([opening, self._marked(calls), *answers], None)
            except ModelError:
                # Some templates write only one call in a turn, although the model may have made more.
                text = self._render([opening, self._marked(calls[-1:]), *answers], None)
        place = text.rfind(_MARK)
        if place < 0:
            raise self._unusable("leaves out what the agent says" if not calls else "leaves out tool calls")
        start, end = self._end_after(text, place + len(_MARK))
        mark = text[start:end]
        # It is encoded together with the end of the previous turn and then cut, because some tokenizers add a token at
        # the start of a text.
        whole, ending = self._encode(mark + text[end:]), self._encode(mark)
        return whole, whole[len(ending) :]

    def _marked(self, calls: tuple[ToolCall, ...]) -> dict:
        *others, last = calls
        return self._assistant((*others, ToolCall(last.name, compact({"mark": _MARK}), last.id)))

    def _assistant(self, calls: tuple[ToolCall, ...]) -> dict:
        """A message with calls. A Hermes template that cannot write an object gets the arguments as JSON text."""
        raw = self.dialect.name in ("hermes", "text") and not re.search(r"arguments\s*\|\s*tojson", self.chat.source)
        written = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": RawJson(call.arguments) if raw else json.loads(call.arguments),
                },
            }
            for call in calls
        ]
        return {"role": "assistant", "content": "", "tool_calls": written}

    def _end_after(self, text: str, start: int) -> tuple[int, int]:
        """Start and end of the first turn end after `start`."""
        found = [(at, -len(end)) for end in self._ends if (at := text.find(end, start)) >= 0]
        if not found:
            raise self._unusable(f"ends no turn with one of {self._ends}")
        at, length = min(found)
        return at, at - length

    def _render(self, messages: list[dict], tools: list[dict] | None) -> str:
        try:
            return self.chat.render(messages, tools)
        except (jinja2.TemplateError, TypeError) as error:
            raise self._unusable(f"refuses a conversation: {error}") from None

    def _unusable(self, why: str) -> ModelError:
        return ModelError(
            f"the chat template of {self._directory} {why}. Save another one there as"
            " chat_template.jinja, and start the policy server with the same one"
        )


def _call_id(turn: int, place: int) -> str:
    """The id has nine letters and digits, because Mistral's templates refuse any other form."""
    return f"t{turn % 10_000:04d}c{place % 1000:03d}"


def _named(calls: list[ToolCall], turn: int) -> tuple[ToolCall, ...]:
    """The calls with the model's ids, or else with ids of ours, and with names that a tokenizer takes."""
    return tuple(
        ToolCall(well_formed(call.name), call.arguments, call.id or _call_id(turn, place))
        for place, call in enumerate(calls)
    )


def _calls(parsed: object) -> list[ToolCall]:
    """The library's calls in our form. Raises ValueError for one without a name."""
    if not isinstance(parsed, list):
        raise ValueError("tool calls are no list")
    calls = []
    for entry in parsed:
        function = entry.get("function", entry) if isinstance(entry, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
            raise ValueError("a tool call has no name")
        arguments, given = function.get("arguments"), function.get("id")
        written = arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments)
        known = given if isinstance(given, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", given) else ""
        calls.append(ToolCall(function["name"], written, known))
    return calls
