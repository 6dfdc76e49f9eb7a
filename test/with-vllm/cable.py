"""A connection to a server that can be pulled out and put back."""

from __future__ import annotations

import contextlib
import socket
import threading


class Cable:
    """Forwards connections from a port of its own to another port of this machine, except while it is pulled."""

    def __init__(self, port: int) -> None:
        self._target, self._open, self._pulled = port, set(), False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def pull(self) -> None:
        """Breaks all connections; new ones are closed at once."""
        self._pulled = True
        for end in list(self._open):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        """Lets connections through again."""
        self._pulled = False

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            if self._pulled:
                near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                near.close()
                continue
            self._open |= {near, far}
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=(source, sink), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            self._open.discard(end)
