"""Whose turn it is to compute: the members of a pack share the cores iteration by iteration.

Each member is a process and talks to the one process that hands out turns over a socket of its own: one byte asks for
a turn and gives back the one that was held, one byte grants it. Turns are granted in the order of asking, so members
advance alike. Whoever dies loses its turn with its socket.
"""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable

POLL_SECONDS = 0.2
_BYTE = b"."


class Turnstile:
    """Grants at most `lanes` turns at a time."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._ends: dict[socket.socket, int] = {}
        self._waiting: deque[socket.socket] = deque()
        self._holding: set[socket.socket] = set()

    def entrance(self, number: int) -> Turn:
        """A new member's end of the socket; `number` is what `wait` calls the member. To be closed after the fork."""
        ours, theirs = socket.socketpair()
        self._ends[ours] = number
        return Turn(theirs)

    def forget(self) -> None:
        """Closes this side's ends: for the forked member, which must not keep those of others open."""
        for end in self._ends:
            end.close()
        self._ends = {}

    def wait(self) -> list[int]:
        """Serves requests until members have ended (their ends are closed) and returns their numbers."""
        ended = []
        while not ended:
            ready, _, _ = select.select(list(self._ends), [], [])
            for end in ready:
                try:
                    asked = bool(end.recv(1))
                except ConnectionError:
                    asked = False
                self._holding.discard(end)
                if asked:
                    self._waiting.append(end)
                else:
                    ended.append(self._leave(end))
            self._grant()
        return ended

    def _leave(self, end: socket.socket) -> int:
        if end in self._waiting:
            self._waiting.remove(end)
        end.close()
        return self._ends.pop(end)

    def _grant(self) -> None:
        while self._waiting and len(self._holding) < self._lanes:
            end = self._waiting.popleft()
            try:
                end.sendall(_BYTE)
            except ConnectionError:
                # It has just died; its end says so next.
                continue
            self._holding.add(end)


class Turn:
    """A member's side. `Turn(None)` is that of a trainer that is alone: it is always its turn."""

    def __init__(self, end: socket.socket | None = None) -> None:
        self._end = end

    def next(self, stopped: Callable[[], bool]) -> bool:
        """Gives back the turn, if one is held, and waits for the next one; False as soon as `stopped` says so."""
        if self._end is None:
            return not stopped()
        self._end.sendall(_BYTE)
        while not stopped():
            if select.select([self._end], [], [], POLL_SECONDS)[0]:
                if not self._end.recv(1):
                    raise ConnectionError("the process that hands out the turns has ended")
                return not stopped()
        return False

    def close(self) -> None:
        """Ends the member's part."""
        if self._end is not None:
            self._end.close()
