"""When a training may use the processor cores that it shares with others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Protocol

Stopped = Callable[[], bool]


class ComputeTurn(Protocol):
    """The right of a training to compute. Of trainings that share a process, as many have it as the cores allow."""

    def next(self, stopped: Stopped) -> bool:
        """Called between two iterations: lets others compute, and waits where there is a turn to wait for.

        False as soon as `stopped()` is true.
        """

    def while_sampling(self, stopped: Stopped) -> contextlib.AbstractContextManager[None]:
        """Entered for the time in which rollouts are collected. It may end with a wait, until `stopped()` is true."""


class Alone:
    """The turn of a training that shares its process with no other: it always has it."""

    def next(self, stopped: Stopped) -> bool:
        """There is nobody to wait for."""
        return not stopped()

    def while_sampling(self, stopped: Stopped) -> contextlib.AbstractContextManager[None]:
        """There is nobody to let compute."""
        return contextlib.nullcontext()


ALONE: ComputeTurn = Alone()
