"""What the owner of a job should know although training goes on."""

from __future__ import annotations

import sys


class Notices:
    """Lines on stderr, each said once."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def tell(self, subject: str, sentence: str) -> None:
        """Says a sentence unless one of this subject was said before."""
        if subject not in self._said:
            self._said.add(subject)
            print(f"whetstone.train: {sentence}", file=sys.stderr, flush=True)
