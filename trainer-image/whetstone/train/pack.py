"""Several adapters over one base model: everything slow is done once, then every member goes on in a fork of its own.

A member trains as it would alone, in a process of its own, so its result cannot depend on the others. What they share
are the imports, the pages of the base model, and the cores: `Turnstile` lets as many members compute at a time as the
cores allow, one iteration each.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from threading import Event

import torch

from whetstone.engine import ModelError
from whetstone.envs.errors import SandboxError
from whetstone.envs.jail import load_profile
from whetstone.envs.jail_probe_client import require_jail

from .base import Base
from .cores import usable_cores
from .grpo import quiet_libraries
from .member import train_member
from .members import Member
from .outcome import BAD_JOB, SIGNALLED, STOPPED, fail
from .turns import Turn, Turnstile

PR_SET_PDEATHSIG = 1
FAULT = 1


class Pack:
    """The forked members. `interrupt` is for the handler of SIGTERM."""

    def __init__(self, members: list[Member], stop: Event, started: float) -> None:
        self._members, self._stop, self._started = members, stop, started
        self._parent = os.getpid()
        self._running: dict[int, int] = {}

    def interrupt(self) -> None:
        """Passes SIGTERM on to the members; each saves a checkpoint and ends."""
        if os.getpid() == self._parent:
            for pid in list(self._running.values()):
                os.kill(pid, signal.SIGTERM)

    def run(self) -> list[int]:
        """Trains all members; their exit codes, in order."""
        # A thread of the math libraries would be missing in the forks.
        torch.set_num_threads(1)
        base = None
        if not torch.cuda.is_available():
            try:
                with quiet_libraries():
                    base = Base.read(Path(self._members[0].job.baseModel))
            except ModelError as error:
                return [fail(BAD_JOB, error, member.store) for member in self._members]
        self._probe_jail()
        # Else the first collection in each fork would write to every page of the libraries' objects.
        gc.collect()
        gc.freeze()
        shared = time.perf_counter() - self._started
        turnstile = Turnstile(max(1, usable_cores() // self._members[0].job.threads))
        codes = [STOPPED] * len(self._members)
        for number in range(len(self._members)):
            self._fork(number, turnstile, base, shared)
        while self._running:
            for number in turnstile.wait():
                codes[number] = self._reap(number)
        # Extension modules report what is still frozen at exit as leaks.
        gc.unfreeze()
        return codes

    def _probe_jail(self) -> None:
        """Tries the jail's layers once for all; what is missing is each member's own failure, when it opens a jail."""
        job = self._members[0].job
        if job.isolation == "jail":
            with contextlib.suppress(SandboxError):
                require_jail(load_profile(job.jailProfile or None))

    def _fork(self, number: int, turnstile: Turnstile, base: Base | None, shared: float) -> None:
        turn = turnstile.entrance(number)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            turnstile.forget()
            self._live(self._members[number], base, turn, shared)
        self._running[number] = pid
        turn.close()
        if self._stop.is_set():
            # It came between the fork and the note of it.
            os.kill(pid, signal.SIGTERM)

    def _live(self, member: Member, base: Base | None, turn: Turn, shared: float) -> None:
        """The life of a fork; does not return."""
        code = FAULT
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == self._parent:
                code = self._train(member, base, turn, shared)
        except Exception as error:
            traceback.print_exc()
            fail(FAULT, f"job {member.job.jobId} ended with {type(error).__name__}: {error}", member.store)
        finally:
            # The parent's handlers and open things are not the fork's to close.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _train(self, member: Member, base: Base | None, turn: Turn, shared: float) -> int:
        if not turn.next(self._stop.is_set):
            return STOPPED
        return train_member(member, self._stop, time.perf_counter() - shared, base, turn)

    def _reap(self, number: int) -> int:
        _, status = os.waitpid(self._running.pop(number), 0)
        code = os.waitstatus_to_exitcode(status)
        member = self._members[number]
        if code == -signal.SIGTERM and self._stop.is_set():
            code = STOPPED
        elif code < 0:
            code = fail(SIGNALLED - code, f"job {member.job.jobId} was killed by signal {-code}", member.store)
        # This process has it open as well, so the member's end alone does not free it.
        member.store.release()
        return code
