"""A checkpoint's chat template and tokenizer, read without loading transformers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from whetstone.engine import ModelError

from .control_tokens import GUARD, ControlTokens
from .piece_cache import PieceCache

# Memory for the token ids of pieces of text, in bytes.
CACHED_BYTES = 64 * 2**20
# A text is tokenized in a few milliseconds if it has at most this many uncached characters, in words of at most this
# length. A tokenizer's time may grow with the square of a word's length.
QUICK_CHARS, QUICK_WORD = 4096, 256

_RUNS = re.compile(r"\s+|\S+")


class RawJson(str):
    """JSON text that a chat template's `tojson` returns unchanged, so that arguments keep their bytes."""


class _Generation(Extension):
    """Renders `{% generation %}` blocks as their content."""

    tags: ClassVar = {"generation"}

    def parse(self, parser: jinja2.parser.Parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def _tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False) -> str:
    if isinstance(value, RawJson):
        return str(value)
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message: str) -> None:
    raise jinja2.exceptions.TemplateError(message)


def _compile(source: str) -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    return environment.from_string(source)


class Chat:
    """The chat template and the tokenizer of one model directory.

    The text of a conversation is cut before each opening token of a turn, and each piece is encoded only once and
    cached. The tokenizer never merges across a special token, so the ids equal those of the whole text. Several threads
    may call the methods.

    Raises ModelError if the directory has no readable tokenizer or no chat template.
    """

    def __init__(self, directory: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
            config = json.loads((directory / "tokenizer_config.json").read_text())
        except Exception as error:
            raise ModelError(f"{directory}: the tokenizer cannot be read: {error}") from None
        sources = _chat_templates(directory, config.get("chat_template"))
        if not sources.get("default"):
            raise ModelError(f"{directory} has no chat template; save one with the tokenizer")
        # A conversation with tools has a template of its own where there is one, as in transformers.
        source = sources.get("tool_use") or sources["default"]
        self.source: str = source
        self.response_template: dict | None = config.get("response_template")
        self._plain_template, self._template = _compile(sources["default"]), _compile(source)
        self._listed_ends = _listed_ends(directory)
        self._names = {
            name: _token_text(config.get(name)) for name in ("bos_token", "eos_token", "pad_token", "unk_token")
        }
        self._names = {name: text for name, text in self._names.items() if text}
        added = self._tokenizer.get_added_tokens_decoder().values()
        plain = {
            token.content for token in added if token.special and not (token.lstrip or token.rstrip or token.normalized)
        }
        self._opening = "<|im_start|>" if "<|im_start|>" in plain else None
        ends = [self.decode([token]) for token in self.end_ids()]
        self._control = ControlTokens(self._tokenizer, source, ends, self._plain_conversation)
        self._piece = PieceCache(self._control.encode, CACHED_BYTES)
        self._longest_token = max(map(len, self._tokenizer.get_vocab()))
        self.token_text = lru_cache(None)(lambda token: self._tokenizer.decode([token], skip_special_tokens=False))

    def end_ids(self) -> list[int]:
        """Tokens that end a turn, ascending, from the generation settings, the config and the tokenizer."""
        token = self._names.get("eos_token")
        number = self._tokenizer.token_to_id(token) if token else None
        return sorted({*self._listed_ends, *([] if number is None else [number])})

    def render(self, messages: list[dict], tools: list[dict] | None) -> str:
        """The prompt's text up to the beginning of the assistant's turn.

        `messages` and `tools` are in OpenAI's form. Control tokens in their texts are marked, so that `encode` reads
        them as text (control_tokens.py). Raises jinja2.TemplateError when the template refuses them.
        """
        return self._render(*self._control.guarded(messages, tools))

    def guarded(self, text: str, role: str) -> str:
        """A text for `encode`, with the control tokens in it marked as in a message of this role."""
        return self._control.text(text, role)

    def _plain_conversation(self) -> str:
        said = [{"role": role, "content": "x"} for role in ("user", "assistant", "user")]
        try:
            return self._render(said, None)
        except (jinja2.TemplateError, TypeError):
            return self.source

    def _render(self, messages: list[dict], tools: list[dict] | None) -> str:
        # SmolLM3's template reads the tools under a name of its own.
        named = {"xml_tools": tools} if tools and "xml_tools" in self.source else {}
        template = self._template if tools else self._plain_template
        return template.render(
            messages=messages, tools=tools, documents=None, add_generation_prompt=True, **named, **self._names
        )

    def encode(self, text: str) -> list[int]:
        """Token ids `[tokens]` of a rendered text, which may contain control tokens. Adds no token at either end."""
        ids: list[int] = []
        for piece in self._pieces(text):
            ids += self._piece(piece)
        return ids

    def _pieces(self, text: str) -> Iterator[str]:
        start = 0
        while start < len(text):
            end = -1 if self._opening is None else text.find(self._opening, start + 1)
            end = len(text) if end < 0 else end
            yield text[start:end]
            start = end

    def is_quick(self, text: str) -> bool:
        """Whether encoding the text takes a few milliseconds at most."""
        if GUARD in text:
            return False
        room = QUICK_CHARS
        for piece in self._pieces(text):
            if piece in self._piece:
                continue
            room -= len(piece)
            if room < 0 or _longest_run(piece) > QUICK_WORD:
                return False
        return True

    def largest_text(self, tokens: int) -> int:
        """The largest number of characters that this many tokens can have."""
        return tokens * self._longest_token

    def fits(self, text: str, tokens: int) -> bool:
        """False for a text that certainly has more than `tokens` tokens, or that contains a word too long for any
        prompt.

        It only counts characters and does not tokenize.
        """
        return len(text) <= self.largest_text(tokens) and _longest_run(text) <= max(2 * tokens, 2048)

    def decode(self, ids: list[int]) -> str:
        """The text of token ids, including special tokens."""
        return self._tokenizer.decode(ids, skip_special_tokens=False)


def _chat_templates(directory: Path, configured: str | list[dict] | None) -> dict[str, str]:
    """The chat templates of a directory by their names, most often `default` alone.

    Those in the config count only where no template has a file, as in transformers.
    """
    found = {path.stem: path.read_text() for path in (directory / "additional_chat_templates").glob("*.jinja")}
    file = directory / "chat_template.jinja"
    if file.exists():
        found["default"] = file.read_text()
    entries = configured if isinstance(configured, list) else [{"name": "default", "template": configured or ""}]
    return found or {entry["name"]: entry["template"] for entry in entries}


def _longest_run(text: str) -> int:
    """Length of the longest run of only white space, or of no white space."""
    return max((len(run) for run in _RUNS.findall(text)), default=0)


def _token_text(value: str | dict | None) -> str | None:
    return value.get("content") if isinstance(value, dict) else value


def _listed_ends(directory: Path) -> list[int]:
    """The end-of-sequence tokens in generation_config.json and config.json; each may name several or none."""
    found: list[int] = []
    for name in ("generation_config.json", "config.json"):
        if not (directory / name).exists():
            continue
        try:
            listed = json.loads((directory / name).read_text()).get("eos_token_id")
        except (ValueError, AttributeError) as error:
            raise ModelError(f"{directory / name} cannot be read: {error}") from None
        listed = listed if isinstance(listed, list) else [listed]
        found += [one for one in listed if isinstance(one, int)]
    return found
