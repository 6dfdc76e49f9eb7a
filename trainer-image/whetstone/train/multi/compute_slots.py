"""Compute slots: several jobs of one command share the processor cores, iteration by iteration.

Each job is a separate process and holds one end of a socket. The parent process holds the other end and grants the
slots. A byte from the job returns the slot that it holds; one of the two kinds of bytes also requests the next slot. A
byte from the parent grants it. Slots are granted in the order of the requests, so that all jobs advance equally. The
end of a job closes its socket, which returns its slot.
"""

from __future__ import annotations

import contextlib
import select
import socket
from collections import deque
from collections.abc import Iterator

from ..loop.compute_turn import ComputeTurn, Stopped

# Seconds after which a waiting job checks again whether it has to stop.
POLL_SECONDS = 0.2
_ASKED = b"?"
_GIVEN_BACK = b"-"
_GRANTED = b"."


class ComputeSlots:
    """The parent's side: at most `slots` jobs compute at a time."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._ends: dict[socket.socket, int] = {}
        self._waiting: deque[socket.socket] = deque()
        self._holding: set[socket.socket] = set()

    def join(self, number: int) -> ComputeSlot:
        """A new job's side.

        `number` identifies the job in the result of `wait`. The parent closes its copy after the fork.
        """
        ours, theirs = socket.socketpair()
        self._ends[ours] = number
        return ComputeSlot(theirs)

    def close_in_fork(self) -> None:
        """Closes the parent's ends in a forked job, which must not keep other jobs' ends open."""
        for end in self._ends:
            end.close()
        self._ends = {}

    def wait(self) -> list[int]:
        """Grants slots until jobs have ended and so closed their sockets; returns their numbers."""
        ended = []
        while not ended:
            ready, _, _ = select.select(list(self._ends), [], [])
            for end in ready:
                try:
                    said = end.recv(1)
                except ConnectionError:
                    said = b""
                self._holding.discard(end)
                if said == _ASKED and end not in self._waiting:
                    self._waiting.append(end)
                elif not said:
                    ended.append(self._leave(end))
            self._grant()
        return ended

    def _leave(self, end: socket.socket) -> int:
        if end in self._waiting:
            self._waiting.remove(end)
        end.close()
        return self._ends.pop(end)

    def _grant(self) -> None:
        while self._waiting and len(self._holding) < self._slots:
            end = self._waiting.popleft()
            try:
                end.sendall(_GRANTED)
            except ConnectionError:
                # The job has just died; the next `wait` reads the end of its socket.
                continue
            self._holding.add(end)


class ComputeSlot(ComputeTurn):
    """A job's side. A job that generates its own rollouts keeps its slot meanwhile."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def next(self, stopped: Stopped) -> bool:
        """Returns the slot, if this job holds one, and waits for the next one.

        False as soon as `stopped()` is true. Raises ConnectionError if the parent process has ended.
        """
        self._end.sendall(_ASKED)
        while not stopped():
            if select.select([self._end], [], [], POLL_SECONDS)[0]:
                if not self._end.recv(1):
                    raise ConnectionError("the process that hands out the compute slots has ended")
                return not stopped()
        return False

    def give_back(self) -> None:
        """Returns the slot, if this job holds one, without requesting the next one."""
        self._end.sendall(_GIVEN_BACK)

    def close(self) -> None:
        """Closes this side of the socket."""
        self._end.close()


class UpdateSlot(ComputeTurn):
    """The side of a job whose rollouts a server generates: it holds a slot only from their end to the end of the
    iteration.

    The server generates for all jobs at once, so rollouts never wait: `next` does not wait, and the next rollouts
    return the slot.
    """

    def __init__(self, slot: ComputeSlot) -> None:
        self._slot = slot

    @contextlib.contextmanager
    def while_sampling(self, stopped: Stopped) -> Iterator[None]:
        """Inside the context, another job has the slot. Afterwards this job waits for its next one, unless it has to
        stop.

        An exception inside ends the job, so it waits for no further slot.
        """
        self._slot.give_back()
        yield
        self._slot.next(stopped)
