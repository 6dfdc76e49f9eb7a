"""A part whose cases end in every way; with `hangs` in its settings, one whose first case does not end."""

from __future__ import annotations

import os
import time

from child import NotRun


def cases(settings: dict) -> list:
    """One case for each way."""
    if settings.get("hangs"):
        return [("hangs", lambda: time.sleep(3600)), ("is not reached", lambda: {"figure": 3})]

    def refuse() -> dict:
        raise NotRun("there is no such card")

    def fail() -> dict:
        raise ValueError("no\nway")

    def crash() -> dict:
        os.write(2, b"a fault\n")
        os._exit(7)

    return [
        ("runs", lambda: {"figure": 1}),
        ("refuses", refuse),
        ("fails", fail),
        ("crashes", crash),
        ("runs after a crash", lambda: {"figure": 2}),
    ]
