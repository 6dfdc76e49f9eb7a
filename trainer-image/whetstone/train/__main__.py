"""`python -m whetstone.train --job job.json`.

Exit codes: 0 done (also when it had been done before), 64 bad job file, 65 environment failed, 66 not a number or
collapse, 75 another trainer holds the output directory, 143 stopped by SIGTERM after a checkpoint.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from threading import Event

STARTED = time.perf_counter()
BAD_JOB, ENVIRONMENT_FAILED, DIVERGED, LOCKED, STOPPED = 64, 65, 66, 75, 143


def _fail(code: int, message: object) -> int:
    print(f"whetstone.train: {message}", file=sys.stderr)
    return code


def main(argv: list[str] | None = None) -> int:
    """Runs the job and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m whetstone.train", description=__doc__)
    parser.add_argument("--job", type=Path, required=True, help="TrainingJob as JSON")
    arguments = parser.parse_args(argv)
    # Before the slow imports: a stop that comes while they run is obeyed after them.
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    from .job import JobError, check_inputs, parse_job
    from .store import Locked, OutputStore

    try:
        job = parse_job(arguments.job.read_text())
        check_inputs(job)
        store = OutputStore(job)
    except (JobError, OSError) as error:
        return _fail(BAD_JOB, error)
    except Locked as error:
        return _fail(LOCKED, error)
    if store.done:
        return 0

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # Read by the OpenMP runtime when torch is loaded.
    os.environ["OMP_NUM_THREADS"] = str(job.threads)
    from whetstone.engine import ModelError
    from whetstone.envs.errors import SandboxError

    from .grpo import Diverged
    from .rollouts import EnvironmentFailed
    from .run import run_job

    try:
        return 0 if run_job(job, store, stop, STARTED) else STOPPED
    except ModelError as error:
        return _fail(BAD_JOB, error)
    except (EnvironmentFailed, SandboxError) as error:
        return _fail(ENVIRONMENT_FAILED, error)
    except Diverged as error:
        return _fail(DIVERGED, error)


if __name__ == "__main__":
    sys.exit(main())
