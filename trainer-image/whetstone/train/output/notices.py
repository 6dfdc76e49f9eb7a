"""Warnings to the owner of a job, which do not stop the training."""

from __future__ import annotations

import sys


class Notices:
    """Lines on stderr, one for each subject."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def warn(self, subject: str, sentence: str) -> None:
        """Writes the sentence, unless this subject already had one."""
        if subject not in self._said:
            self._said.add(subject)
            print(f"whetstone.train: {sentence}", file=sys.stderr, flush=True)
