"""A cache of token ids, limited by its memory."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

# Bytes of an entry without its text, and of a token: a number and its place in the list.
ENTRY_BYTES, TOKEN_BYTES = 300, 36


class PieceCache:
    """Token ids by text; the least recently used are dropped first. Several threads may use it.

    `limit` is in bytes. A text that would need more than a sixteenth of it is encoded, but not cached.
    """

    def __init__(self, encode: Callable[[str], list[int]], limit: int) -> None:
        self._encode, self._limit = encode, limit
        self._kept: OrderedDict[str, tuple[list[int], int]] = OrderedDict()
        self._lock = Lock()
        self.bytes = 0

    def __contains__(self, text: str) -> bool:
        return text in self._kept

    def __call__(self, text: str) -> list[int]:
        """Token ids of a text; callers must not change them."""
        with self._lock:
            found = self._kept.get(text)
            if found is not None:
                self._kept.move_to_end(text)
                return found[0]
        ids = self._encode(text)
        size = ENTRY_BYTES + sys.getsizeof(text) + TOKEN_BYTES * len(ids)
        with self._lock:
            if size * 16 <= self._limit and text not in self._kept:
                self._kept[text] = (ids, size)
                self.bytes += size
                while self.bytes > self._limit:
                    self.bytes -= self._kept.popitem(last=False)[1][1]
        return ids
