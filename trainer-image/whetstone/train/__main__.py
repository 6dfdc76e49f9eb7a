"""`python -m whetstone.train --job job.json [--job other.json ...]`: trains one adapter, or several over one base
model.

Exit codes: 0 done (also if it was done before), 64 bad job file, 65 environment failed, 66 diverged (a number that is
not finite, or a collapse), 67 the GPU failed, 68 its memory was too small, 69 something outside the jail killed an
environment, 70 the sampler cannot serve the training, 71 the first rewards differ from the calibrated ones, 74 the disk
is full, 75 another trainer holds the output directory, 76 no worker attended to the job for a long time, 78 a trial
found that something is missing here, 143 stopped by SIGTERM after a checkpoint, or cancelled. For several jobs: 0 if
all are done or cancelled, 143 if SIGTERM stopped them, else the largest code.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import time
from pathlib import Path
from threading import Event

STARTED = time.perf_counter()


def main(argv: list[str] | None = None) -> int:
    """Runs the jobs and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m whetstone.train", description=__doc__)
    parser.add_argument(
        "--job", type=Path, required=True, action="append", help="TrainingJob as JSON; repeated: jobs that share a base"
    )
    arguments = parser.parse_args(argv)
    # This comes before the slow imports, so that a SIGTERM during them takes effect after them.
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    from .job import JobError
    from .job.exit_codes import BAD_JOB, LOCKED, combined_exit_code
    from .multi.open_jobs import open_jobs
    from .output.failure import end_with_failure
    from .output.store import Locked
    from .trial.request import read_trial

    # The driver, not CUDA, is asked for GPUs, because a process that has started CUDA cannot be forked.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    try:
        trial = read_trial(arguments.job[0]) if len(arguments.job) == 1 else None
        if trial is not None:
            from .trial.run import run_trial

            return run_trial(trial, STARTED)
        stores, codes = open_jobs(arguments.job)
    except JobError as error:
        return end_with_failure(BAD_JOB, error)
    except Locked as error:
        return end_with_failure(LOCKED, error)
    if not stores:
        return codes[0] if len(arguments.job) == 1 else combined_exit_code(codes, stopped=False)

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # The OpenMP runtime reads it when torch is loaded.
    os.environ["OMP_NUM_THREADS"] = str(stores[0].job.threads)
    # Imports make no garbage, but collecting would take a quarter of their time.
    gc.disable()
    from .loop.run_to_exit_code import run_to_exit_code

    if len(arguments.job) > 1:
        from .multi.forked_jobs import ForkedJobs

    gc.enable()
    if len(arguments.job) == 1:
        return run_to_exit_code(stores[0], stop, STARTED)
    forked = ForkedJobs(stores, stop, STARTED)
    signal.signal(signal.SIGTERM, lambda *_: (stop.set(), forked.interrupt()))
    return combined_exit_code(codes + forked.run(), stop.is_set())


if __name__ == "__main__":
    sys.exit(main())
