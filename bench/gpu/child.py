"""The process of one part: tries its cases one after the other and writes a JSON line for each.

    child.py DESCRIPTOR SETTINGS

SETTINGS is JSON: `module`, `tried` (cases that an earlier process tried), `device`, `tiny`, `deadline` (when the
process is ended, in seconds since 1970), and what the module reads.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback


class NotRun(Exception):
    """A case that cannot be tried here. The message says why."""


def why(error: Exception) -> str:
    """Why a case did not run, in one line."""
    words = " ".join(str(error).split())[:400]
    if isinstance(error, NotRun):
        return words
    if isinstance(error, ModuleNotFoundError):
        return f"a package is missing: {words}"
    if isinstance(error, ImportError):
        return f"the versions do not fit: {words}"
    if type(error).__name__ == "OutOfMemoryError":
        return f"out of memory: {words}"
    return f"{type(error).__name__}: {words}"


def main() -> None:
    """Tries the cases."""
    descriptor, settings = int(sys.argv[1]), json.loads(sys.argv[2])
    # What the cases raise is the class that they import, not this script's.
    sys.modules["child"] = sys.modules["__main__"]

    def say(message: dict) -> None:
        os.write(descriptor, (json.dumps(message) + "\n").encode())

    try:
        cases = importlib.import_module(settings["module"]).cases(settings)
    except Exception as error:
        traceback.print_exc()
        say({"broken": why(error)})
        return
    say({"cases": [case for case, _ in cases]})
    for case, attempt in cases:
        if case in settings["tried"]:
            continue
        say({"begins": case})
        started = time.perf_counter()
        row: dict = {"case": case, "state": "ran", "reason": None}
        try:
            row |= attempt()
        except Exception as error:
            traceback.print_exc()
            row |= {"state": "not run", "reason": why(error), **getattr(error, "figures", {})}
        row.setdefault("seconds", round(time.perf_counter() - started, 3))
        say(row)
    say({"finished": True})


if __name__ == "__main__":
    main()
