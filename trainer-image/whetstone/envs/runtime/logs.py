"""Bounded replacements of sys.stdout and sys.stderr."""

import io
import os

from .limits import LOG_BYTES

_write = os.write


class BoundedLog(io.TextIOBase):
    """Replaces sys.stdout and sys.stderr.

    It passes on LOG_BYTES and then discards, so that an environment with much output neither blocks on a full pipe nor
    is killed by the parent's limit.
    """

    def __init__(self, fd):
        self._fd = fd
        self._left = LOG_BYTES

    def writable(self):
        return True

    def fileno(self):
        return self._fd

    def write(self, text):
        if self._left > 0:
            data = str(text).encode("utf-8", "replace")
            if len(data) > self._left:
                # Without the first bytes of a character that breaks off.
                data = data[: self._left].decode("utf-8", "ignore").encode()
                self._left = len(data)
            self._left -= len(data)
            try:
                _write(self._fd, data)
            except OSError:
                self._left = 0
        return len(text)
