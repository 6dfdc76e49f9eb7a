"""Several jobs in one command, over one base model (docs/explanations/packing.md).

This process does all slow work once and then forks a process for each job. A job trains there as in a separate trainer,
so its result cannot depend on the others. The jobs share the imports, the memory of the base model and the processor
cores. `ComputeSlots` lets as many of them compute at a time as the cores allow, one iteration each.
"""

from __future__ import annotations

import contextlib
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
from whetstone.sampling.supervise import end_with_parent
from whetstone.usable_cores import usable_cores

from ..job.exit_codes import BAD_JOB, FAULT, SAMPLER_REFUSED, SIGNALLED, STOPPED
from ..loop.base_model import BaseModel
from ..loop.open_sampler import managed_server
from ..loop.run_to_exit_code import run_to_exit_code
from ..loop.trl_settings import quiet_libraries
from ..output.failure import end_with_failure
from ..output.store import OutputStore
from .compute_slots import ComputeSlot, ComputeSlots, UpdateSlot


class ForkedJobs:
    """The jobs of some output directories, and their processes.

    `started` is the perf_counter value at this process's start, in seconds.
    """

    def __init__(self, stores: list[OutputStore], stop: Event, started: float) -> None:
        self._stores, self._stop, self._started = stores, stop, started
        self._first = stores[0].job
        self._parent = os.getpid()
        self._running: dict[int, int] = {}
        self._base: BaseModel | None = None
        self._server: ManagedServer | None = None
        # Seconds of the common start of all jobs.
        self._shared_startup = 0.0

    def interrupt(self) -> None:
        """Passes SIGTERM on to the jobs; each saves a checkpoint and ends. It is for the handler of SIGTERM."""
        if os.getpid() == self._parent:
            for pid in list(self._running.values()):
                os.kill(pid, signal.SIGTERM)

    def run(self) -> list[int]:
        """Trains all jobs and returns their exit codes, in order."""
        if self._first.sampler != "managed":
            return self._run()
        try:
            with managed_server([store.job for store in self._stores], self._stores[0].root) as self._server:
                return self._run()
        except SamplerRefused as error:
            return [end_with_failure(SAMPLER_REFUSED, error, store) for store in self._stores]

    def _run(self) -> list[int]:
        # The math libraries must not have threads yet, since a fork does not inherit them.
        torch.set_num_threads(1)
        if not torch.cuda.is_available():
            try:
                quiet_libraries()
                self._base = BaseModel.read(Path(self._first.baseModel), self._first.sampler)
            except ModelError as error:
                return [end_with_failure(BAD_JOB, error, store) for store in self._stores]
        if self._first.isolation == "jail":
            # Tests the jail's layers once for all jobs. If a layer is missing, each job fails later, when it opens its
            # jail.
            with contextlib.suppress(SandboxError):
                require_jail(load_profile(self._first.jailProfile or None))
        # Otherwise the first garbage collection of each fork would write to all memory that the forks share.
        gc.collect()
        gc.freeze()
        self._shared_startup = time.perf_counter() - self._started
        slots = ComputeSlots(max(1, usable_cores() // self._first.threads))
        codes = [STOPPED] * len(self._stores)
        for number in range(len(self._stores)):
            self._fork(number, slots)
        while self._running:
            for number in slots.wait():
                codes[number] = self._reap(number)
        # Extension modules report objects that are still frozen at exit as leaks.
        gc.unfreeze()
        return codes

    def _fork(self, number: int, slots: ComputeSlots) -> None:
        """Starts the process of a job."""
        slot = slots.join(number)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            slots.close_in_fork()
            self._run_in_fork(self._stores[number], slot)
        self._running[number] = pid
        slot.close()
        if self._stop.is_set():
            # The signal came after the fork and before its process id was recorded.
            os.kill(pid, signal.SIGTERM)

    def _run_in_fork(self, store: OutputStore, slot: ComputeSlot) -> None:
        """Runs a job in its forked process, and ends the process with the job's exit code."""
        code = FAULT
        try:
            end_with_parent(self._parent, signal.SIGKILL)
            # With a server, all jobs prepare while it starts.
            turn = slot if store.job.sampler == "engine" else UpdateSlot(slot)
            if turn.next(self._stop.is_set):
                started = time.perf_counter() - self._shared_startup
                code = run_to_exit_code(store, self._stop, started, self._base, turn, self._server)
            else:
                code = STOPPED
        except Exception as error:
            traceback.print_exc()
            end_with_failure(FAULT, f"job {store.job.jobId} ended with {type(error).__name__}: {error}", store)
        finally:
            # sys.exit would run the parent's exit handlers in the fork.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _reap(self, number: int) -> int:
        """Reaps the process of a job that has ended and returns the job's exit code."""
        _, status = os.waitpid(self._running.pop(number), 0)
        code = os.waitstatus_to_exitcode(status)
        store = self._stores[number]
        if code == -signal.SIGTERM and self._stop.is_set():
            code = STOPPED
        elif code < 0:
            code = end_with_failure(SIGNALLED - code, f"job {store.job.jobId} was killed by signal {-code}", store)
        # This process also has the lock file open, so the end of the job's process alone does not free the lock.
        store.release()
        return code
