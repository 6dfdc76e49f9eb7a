"""Control tokens in the text of users, tools and environments: they stay text.

A chat template puts texts between its own control tokens, and a tokenizer cannot tell the two apart. So `guarded`
marks control tokens in the texts before they are rendered, and `encode` reads what is marked as text. A text without
control tokens has the token ids that it has without this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cached_property

from tokenizers import Tokenizer

# Stands behind the first character of a control token that is text. Unicode will never make it a character; where a
# text has it all the same, it becomes the mark of an unknown character.
GUARD, UNKNOWN = "\ufdd0", "\ufffd"
# Roles whose text may hold marks inside a turn, such as those of a call or of reasoning: the agent's own, its owner's.
OWN_ROLES = ("assistant", "system")


class ControlTokens:
    """The control tokens of a tokenizer: its special tokens, and other added tokens that the chat template names.

    `ends` are the texts of tokens that end turns. `spoken()` renders a conversation of plain messages: the special
    tokens in it begin and end turns. Methods may be called from several threads.
    """

    def __init__(self, tokenizer: Tokenizer, source: str, ends: Iterable[str], spoken: Callable[[], str]) -> None:
        self._tokenizer, self._ends, self._spoken = tokenizer, tuple(ends), spoken
        # A token of one character has no inside for a guard.
        added = [token for token in tokenizer.get_added_tokens_decoder().values() if len(token.content.strip()) > 1]
        self._special = [token.content for token in added if token.special]
        named = [token.content for token in added if not token.special and token.content in source]
        # Words that are tokens of their own are text all the same.
        self._names = frozenset([*self._special, *(text for text in named if not text.strip().isalnum())])
        self._any = _pattern(self._names)

    @cached_property
    def _turns(self) -> re.Pattern:
        spoken = self._spoken()
        return _pattern([text for text in self._special if text in spoken or text in self._ends])

    def guarded(self, messages: list[dict], tools: list[dict] | None) -> tuple[list[dict], list[dict] | None]:
        """A conversation in OpenAI's form and its tools, with the control tokens in their texts marked."""
        return [self._message(message) for message in messages], _marked(tools, self._any)

    def text(self, text: str, role: str) -> str:
        """A text of a message's role with the control tokens in it marked."""
        return _marked(text, self._in_texts_of(role))

    def encode(self, text: str) -> list[int]:
        """Token ids of a text in which control tokens count unless they are marked."""
        if GUARD not in text:
            return self._tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer, ids = self._renamed
        either = re.compile(f"{GUARD}|{self._any.pattern}")
        written = either.sub(lambda found: "" if found[0] == GUARD else GUARD + found[0], text)
        return [ids.get(token, token) for token in tokenizer.encode(written, add_special_tokens=False).ids]

    def _message(self, message: dict) -> dict:
        own = self._in_texts_of(message.get("role"))
        return {
            key: value if key == "role" else _marked(value, self._any if key == "tool_calls" else own)
            for key, value in message.items()
        }

    def _in_texts_of(self, role: object) -> re.Pattern:
        return self._turns if role in OWN_ROLES else self._any

    @cached_property
    def _renamed(self) -> tuple[Tokenizer, dict[int, int]]:
        """The tokenizer with a guard before the name of each control token, and its ids of added tokens as ours.

        A name with a guard is in no text, and a name without one is text, which no merge may make a token either.
        """
        whole = json.loads(self._tokenizer.to_str())

        def renamed(text: str) -> str:
            return GUARD + text if text in self._names else text

        ours = {renamed(token["content"]): token["id"] for token in whole["added_tokens"]}
        for token in whole["added_tokens"]:
            token["content"] = renamed(token["content"])
        model = whole["model"]
        if isinstance(model["vocab"], dict):
            model["vocab"] = {renamed(text): number for text, number in model["vocab"].items()}
        else:
            model["vocab"] = [[renamed(text), score] for text, score in model["vocab"]]
        if "merges" in model:
            merges = [(merge, merge.split(" ") if isinstance(merge, str) else merge) for merge in model["merges"]]
            # Neither a merge that makes a control token, nor one that goes on from it.
            model["merges"] = [merge for merge, parts in merges if self._names.isdisjoint((*parts, "".join(parts)))]
        if isinstance(model.get("unk_token"), str):
            model["unk_token"] = renamed(model["unk_token"])
        tokenizer = Tokenizer.from_str(json.dumps(whole))
        return tokenizer, {tokenizer.token_to_id(text): number for text, number in ours.items()}


def _pattern(texts: Iterable[str]) -> re.Pattern:
    """Finds each of the texts, the longest first; none where there is no text."""
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or r"(?!)")


def _marked(value: object, control: re.Pattern) -> object:
    """The value with guards in the control tokens of all texts in it, which keep their type."""
    if isinstance(value, dict):
        return {_marked(key, control): _marked(one, control) for key, one in value.items()}
    if isinstance(value, list):
        return [_marked(one, control) for one in value]
    if not isinstance(value, str):
        return value
    marked = value.replace(GUARD, UNKNOWN)
    while control.search(marked):
        # Again, since control tokens may overlap.
        marked = control.sub(lambda found: found[0][0] + GUARD + found[0][1:], marked)
    return value if marked == value else type(value)(marked)
