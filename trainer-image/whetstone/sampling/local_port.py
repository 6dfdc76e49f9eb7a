"""A port of this machine's loopback address, reserved for one server."""

from __future__ import annotations

import socket

HOST = "127.0.0.1"


class LocalPort:
    """A free port that no other program gets while this object is open. A server that knows the port can listen there.

    Without this object, two servers could get the same number. vLLM servers would then share the port without an error
    (SO_REUSEPORT), and each would answer some of the other's requests.
    """

    def __init__(self) -> None:
        self._socket = socket.socket()
        # A bound port is not given to programs that ask for any free port, even if its socket does not listen. With
        # these options the server can bind to it by its number.
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
