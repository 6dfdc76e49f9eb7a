"""`python -m whetstone.train --job job.json [--job other.json ...]`: one adapter, or several over one base model.

Exit codes: 0 done (also when it had been done before), 64 bad job file, 65 environment failed, 66 not a number or
collapse, 75 another trainer holds the output directory, 143 stopped by SIGTERM after a checkpoint, or cancelled. Of
several jobs: 0 when all are done or cancelled, 143 when SIGTERM stopped them, else the largest of their codes.
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
    # Before the slow imports: a stop that comes while they run is obeyed after them.
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    from .job import JobError
    from .members import open_members
    from .outcome import BAD_JOB, LOCKED, code_of_pack, fail
    from .store import Locked

    try:
        members, codes = open_members(arguments.job, dict(os.environ))
    except JobError as error:
        return fail(BAD_JOB, error)
    except Locked as error:
        return fail(LOCKED, error)
    if not members:
        return codes[0] if len(arguments.job) == 1 else code_of_pack(codes, stopped=False)

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # A process that has asked CUDA itself cannot be forked.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    # Read by the OpenMP runtime when torch is loaded.
    os.environ["OMP_NUM_THREADS"] = str(members[0].job.threads)
    # Nothing that an import makes is garbage, and looking for some takes a quarter of the time.
    gc.disable()
    from .member import train_member

    if len(arguments.job) > 1:
        from .pack import Pack

    gc.enable()
    if len(arguments.job) == 1:
        return train_member(members[0], stop, STARTED)
    pack = Pack(members, stop, STARTED)
    signal.signal(signal.SIGTERM, lambda *_: (stop.set(), pack.interrupt()))
    return code_of_pack(codes + pack.run(), stop.is_set())


if __name__ == "__main__":
    sys.exit(main())
