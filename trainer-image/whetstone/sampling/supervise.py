"""Keeps a server running as long as the parent process lives: `python supervise.py`, with a plan as JSON on stdin.

It imports nothing of the package, so that it starts quickly and needs little memory. It ends with exit code 1 if the
server has ended three times in a row within ten minutes of its start, because its command must then be wrong. On
SIGTERM, which the kernel also sends when the parent dies, it ends the server's whole process group.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

PR_SET_PDEATHSIG = 1
# A server that ends earlier may never have been ready: on a small machine its start alone takes minutes.
SOON_SECONDS = 600.0
MOST_SOON_ENDS = 3
RESTART_SECONDS = 1.0
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Plan:
    """The server's command, the file for its output, and its time limit in seconds for ending after SIGTERM."""

    command: list[str]
    log: str
    grace: float


def end_group(process: subprocess.Popen, grace: float) -> None:
    """Ends a process that leads a group, and the rest of its group."""
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            process.poll()
            if not _group_lives(process.pid):
                return
            time.sleep(POLL_SECONDS)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def end_with_parent(parent: int, number: int = signal.SIGTERM) -> None:
    """For a new process: asks the kernel for a signal when the process `parent` dies.

    Exits if the parent has died already.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def main() -> int:
    """Supervises until SIGTERM (0), or until the server cannot be kept running (1)."""
    plan = Plan(**json.load(sys.stdin))
    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stop.append(number))
    soon, own = 0, os.getpid()
    while not stop:
        started = time.monotonic()
        with open(plan.log, "ab") as log:
            server = subprocess.Popen(
                plan.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: end_with_parent(own),
            )
        while server.poll() is None and not stop:
            time.sleep(POLL_SECONDS)
        # Its child processes end, too, because they hold the port or memory of the GPU.
        end_group(server, plan.grace)
        soon = soon + 1 if time.monotonic() - started < SOON_SECONDS else 0
        if soon >= MOST_SOON_ENDS and not stop:
            return 1
        if not stop:
            time.sleep(RESTART_SECONDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
