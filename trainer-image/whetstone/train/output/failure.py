"""The end of a job without a manifest: a sentence on stderr, and failure.json in the output directory."""

from __future__ import annotations

import sys

from ..job.exit_codes import STOPPED
from .store import Fenced, OutputStore


def end_with_failure(code: int, message: object, store: OutputStore | None = None) -> int:
    """Writes the message to stderr and, if this process holds the output directory, to failure.json.

    Returns `code`, an exit code.
    """
    print(f"whetstone.train: {message}", file=sys.stderr, flush=True)
    if store is not None:
        try:
            store.save_failure(code, str(message))
        except (Fenced, OSError) as error:
            print(
                f"whetstone.train: failure.json of {store.root} was not written: {error}", file=sys.stderr, flush=True
            )
    return code


def end_cancelled(store: OutputStore) -> int:
    """Writes failure.json of a job that was cancelled. Returns the exit code."""
    store.save_failure(STOPPED, "cancelled")
    return STOPPED
