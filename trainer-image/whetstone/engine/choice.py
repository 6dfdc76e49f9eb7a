"""Constrained decoding: the completion must be one of a list of token sequences."""

from __future__ import annotations


class ChoiceTrie:
    """The allowed continuations at each step of a request.

    `choices` are non-empty token sequences. If one choice is a prefix of another, the end-of-turn id ends the shorter
    one.
    """

    def __init__(self, choices: list[list[int]], end: int) -> None:
        if not choices or any(not choice for choice in choices):
            raise ValueError("every choice needs at least one token")
        if any(end in choice for choice in choices):
            raise ValueError("a choice must not hold the token that ends a turn")
        self._end = end
        self._root: dict = {}
        for choice in choices:
            node = self._root
            for token in choice:
                node = node.setdefault(token, {})
            node[end] = None
        self._node = self._root

    def allowed(self) -> list[int]:
        """Token ids that may come next."""
        return list(self._node)

    def advance(self, token: int) -> bool:
        """Takes a token; returns True if the completion is complete."""
        following = self._node[token]
        if following is None:
            return True
        self._node = following
        return set(following) == {self._end}
