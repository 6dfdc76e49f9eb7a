"""Several jobs in one command, over one base model (docs/explanations/packing.md).

This process does everything slow once and then forks a process for each job. A job trains there as it would alone, so
its result cannot depend on the others. The jobs share the imports, the memory of the base model and the processor
cores: `ComputeSlots` lets as many of them compute at a time as the cores allow, one iteration each.
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
from whetstone.sampling import SamplerRefused
from whetstone.sampling.managed_server import ManagedServer
from whetstone.usable_cores import usable_cores

from ..job.exit_codes import BAD_JOB, FAULT, SAMPLER_REFUSED, SIGNALLED, STOPPED
from ..loop.base_model import BaseModel
from ..loop.open_sampler import managed_server
from ..loop.run_to_exit_code import run_to_exit_code
from ..loop.trl_settings import quiet_libraries
from ..output.failure import end_with_failure
from .compute_slots import ComputeSlot, ComputeSlots, UpdateSlot
from .open_jobs import OpenJob

# Of prctl(2): the kernel sends this process a signal when its parent dies.
PR_SET_PDEATHSIG = 1


class ForkedJobs:
    """The jobs and their processes. `started` is the perf_counter value at which this process began, in seconds."""

    def __init__(self, jobs: list[OpenJob], stop: Event, started: float) -> None:
        self._jobs, self._stop, self._started = jobs, stop, started
        self._parent = os.getpid()
        self._running: dict[int, int] = {}

    def interrupt(self) -> None:
        """Passes SIGTERM on to the jobs; each saves a checkpoint and ends. For the handler of SIGTERM."""
        if os.getpid() == self._parent:
            for pid in list(self._running.values()):
                os.kill(pid, signal.SIGTERM)

    def run(self) -> list[int]:
        """Trains all jobs and returns their exit codes, in order."""
        if self._jobs[0].job.sampler != "managed":
            return self._run(None)
        try:
            with managed_server([one.job for one in self._jobs], self._jobs[0].store.root) as server:
                return self._run(server)
        except SamplerRefused as error:
            return [end_with_failure(SAMPLER_REFUSED, error, one.store) for one in self._jobs]

    def _run(self, server: ManagedServer | None) -> list[int]:
        # The math libraries must have no threads of their own yet, since a fork does not inherit them.
        torch.set_num_threads(1)
        base = None
        if not torch.cuda.is_available():
            try:
                quiet_libraries()
                first = self._jobs[0].job
                base = BaseModel.read(Path(first.baseModel), first.sampler)
            except ModelError as error:
                return [end_with_failure(BAD_JOB, error, job.store) for job in self._jobs]
        self._probe_jail()
        # Otherwise the first garbage collection of each fork would write to all memory that the forks share.
        gc.collect()
        gc.freeze()
        shared = time.perf_counter() - self._started
        slots = ComputeSlots(max(1, usable_cores() // self._jobs[0].job.threads))
        codes = [STOPPED] * len(self._jobs)
        for number in range(len(self._jobs)):
            self._fork(number, slots, base, server, shared)
        while self._running:
            for number in slots.wait():
                codes[number] = self._reap(number)
        # What is still frozen at exit, extension modules report as leaks.
        gc.unfreeze()
        return codes

    def _probe_jail(self) -> None:
        """Tests the jail's layers once for all jobs. A missing layer fails each job later, when it opens its jail."""
        job = self._jobs[0].job
        if job.isolation == "jail":
            with contextlib.suppress(SandboxError):
                require_jail(load_profile(job.jailProfile or None))

    def _fork(
        self, number: int, slots: ComputeSlots, base: BaseModel | None, server: ManagedServer | None, shared: float
    ) -> None:
        """Starts the process of a job. `shared` are the seconds that all jobs have spent together, starting up."""
        slot = slots.join(number)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            slots.close_in_fork()
            self._run_in_fork(self._jobs[number], base, server, slot, shared)
        self._running[number] = pid
        slot.close()
        if self._stop.is_set():
            # The signal came after the fork and before its process id was noted.
            os.kill(pid, signal.SIGTERM)

    def _run_in_fork(
        self,
        opened: OpenJob,
        base: BaseModel | None,
        server: ManagedServer | None,
        slot: ComputeSlot,
        shared: float,
    ) -> None:
        """Runs a job in its forked process, and ends the process with the job's exit code."""
        code = FAULT
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() == self._parent:
                code = self._train(opened, base, server, slot, shared)
        except Exception as error:
            traceback.print_exc()
            end_with_failure(FAULT, f"job {opened.job.jobId} ended with {type(error).__name__}: {error}", opened.store)
        finally:
            # Not sys.exit: the fork must not run the parent's exit handlers.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _train(
        self,
        opened: OpenJob,
        base: BaseModel | None,
        server: ManagedServer | None,
        slot: ComputeSlot,
        shared: float,
    ) -> int:
        # Where a server generates, all get ready while it starts.
        turn = slot if opened.job.sampler == "engine" else UpdateSlot(slot)
        if not turn.next(self._stop.is_set):
            return STOPPED
        started = time.perf_counter() - shared
        return run_to_exit_code(opened.job, opened.store, self._stop, started, base, turn, server)

    def _reap(self, number: int) -> int:
        """Collects the process of a job that has ended and returns the job's exit code."""
        _, status = os.waitpid(self._running.pop(number), 0)
        code = os.waitstatus_to_exitcode(status)
        opened = self._jobs[number]
        if code == -signal.SIGTERM and self._stop.is_set():
            code = STOPPED
        elif code < 0:
            code = end_with_failure(
                SIGNALLED - code, f"job {opened.job.jobId} was killed by signal {-code}", opened.store
            )
        # This process has the lock file open as well, so the end of the job's process alone does not free the lock.
        opened.store.release()
        return code
