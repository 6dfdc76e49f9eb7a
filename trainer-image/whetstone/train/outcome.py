"""How a trainer ends: exit codes, and the failure that it leaves in the output directory."""

from __future__ import annotations

import sys

from .store import Fenced, OutputStore

BAD_JOB, ENVIRONMENT_FAILED, DIVERGED, LOCKED, STOPPED = 64, 65, 66, 75, 143
# What a shell makes of a process that a signal ended.
SIGNALLED = 128


def fail(code: int, message: object, store: OutputStore | None = None) -> int:
    """Says it on stderr and, where this trainer holds the output directory, in its failure.json; returns the code."""
    print(f"whetstone.train: {message}", file=sys.stderr, flush=True)
    if store is not None:
        try:
            store.save_failure(code, str(message))
        except (Fenced, OSError) as error:
            print(f"whetstone.train: {store.root} does not learn of it: {error}", file=sys.stderr, flush=True)
    return code


def cancelled(store: OutputStore) -> int:
    """The end of a job that nobody waits for any more."""
    store.save_failure(STOPPED, "cancelled")
    return STOPPED


def code_of_pack(codes: list[int], stopped: bool) -> int:
    """Exit code of a pack from its members': 0 when all are done or cancelled, 143 when SIGTERM stopped it, else the largest.

    Nobody waits for a cancelled member, so it is no reason to start the pack again.
    """
    if stopped and any(codes):
        return STOPPED
    return max((code for code in codes if code != STOPPED), default=0)
