"""A port of this machine's loopback address, kept for one server."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"


class LocalPort:
    """A free port that nobody else is given while this object is open; a server can listen at it all the same.

    A number that is only looked up may be given to two servers, and vLLM's share a port without a word (SO_REUSEPORT):
    each answers some of the other's requests.
    """

    def __init__(self) -> None:
        self._socket = socket.socket()
        # A socket that is bound and does not listen keeps the port from whoever asks for any free one. These options
        # let the server bind to it by its number.
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            self._socket.setsockopt(socket.SOL_SOCKET, option, 1)
        self._socket.bind((HOST, 0))
        self.number: int = self._socket.getsockname()[1]

    def close(self) -> None:
        """Gives the port back. Idempotent."""
        self._socket.close()

    def __enter__(self) -> LocalPort:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
