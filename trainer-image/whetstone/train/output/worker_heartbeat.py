"""Whether a worker still needs the result of a job."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

# The worker of a job touches this file of its output directory about every minute.
ATTENDED = "attended"
# How long a training waits for a worker, unless WHET_ATTENDED_MINUTES changes it: long enough for an upgrade of the
# workers.
DEFAULT_MINUTES = 60.0


class WorkerHeartbeat:
    """Follows the file `attended` of an output directory.

    The file's time may come from another machine's clock. So only its changes count, measured by this process's own
    clock. For a job without the file, the time never runs out.
    """

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.minutes = float(os.environ.get("WHET_ATTENDED_MINUTES") or DEFAULT_MINUTES)
        self._path, self._clock = root / ATTENDED, clock
        self._seen: int | None = None
        self._since = clock()

    @property
    def lapsed(self) -> bool:
        """True if no worker has touched the file for `minutes`."""
        try:
            touched = self._path.stat().st_mtime_ns
        except OSError:
            return False
        if touched != self._seen:
            self._seen, self._since = touched, self._clock()
        return self._clock() - self._since > self.minutes * 60
