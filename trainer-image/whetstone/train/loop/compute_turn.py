"""When a training may use the processor cores that it shares with others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

Stopped = Callable[[], bool]


class ComputeTurn:
    """The right of a training to compute. This class is for a training with its own process: it never waits.

    If several trainings share a process, only as many compute at once as the cores allow (multi/compute_slots.py).
    """

    def next(self, stopped: Stopped) -> bool:
        """Called between two iterations: lets others compute, and waits if there is a turn to wait for.

        False as soon as `stopped()` is true.
        """
        return not stopped()

    def while_sampling(self, stopped: Stopped) -> contextlib.AbstractContextManager[None]:
        """Entered while rollouts are collected. Leaving it may wait, until `stopped()` is true."""
        return contextlib.nullcontext()
