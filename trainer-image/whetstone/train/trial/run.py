"""One trial with an exit code for every way in which it can end."""

from __future__ import annotations

import os
import platform
import signal
import sys
import threading
import time
from pathlib import Path

from whetstone import __version__

from ..job import JobError, check_inputs
from ..job.exit_codes import BAD_JOB, DISK_FULL, LOCKED, STOPPED, UNFIT
from ..output.disk import DiskFull
from ..output.failure import end_with_failure
from ..output.store import Locked, OutputStore
from .devices import platform_version, usable_devices
from .place import Unfit, package_versions, require_isolation, require_model
from .request import Trial

# Time limit of a whole trial. Without it, a driver or a file system that does not answer would block it for ever.
LIMIT_SECONDS = 600.0


def run_trial(trial: Trial, started: float) -> int:
    """Tests everything, writes the manifest and returns the exit code. `started` is a value of time.perf_counter."""
    job = trial.job
    # A trial has no checkpoint to save, so it ends at once. It needs a handler, because the first process of a
    # container ignores signals without one.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(STOPPED))
    watch = _Watch(float(os.environ.get("WHET_TRIAL_SECONDS") or LIMIT_SECONDS))
    store: OutputStore | None = None
    try:
        watch.at("the store")
        store = _open(trial)
        store.clear_failure()
        if store.has_manifest:
            return 0
        packages = package_versions()
        watch.at("the base model")
        require_model(Path(job.baseModel), trial.modelFiles)
        # The worker wrote the environment's file. Its hash shows that this is the worker's folder, not another one with
        # the same name.
        check_inputs(job)
        watch.at("the jail")
        require_isolation(job)
        watch.at("the GPUs")
        devices = usable_devices(trial.gpus)
        watch.at("the store")
        store.save_manifest(
            {
                "jobId": job.jobId,
                "trainerVersion": __version__,
                "pythonVersion": platform.python_version(),
                "packages": packages,
                "platformVersion": platform_version() if trial.gpus > 0 else None,
                "devices": devices,
                "modelFiles": len(trial.modelFiles),
                "jail": job.isolation == "jail",
                "seconds": round(time.perf_counter() - started, 3),
            }
        )
        return 0
    except Unfit as error:
        return end_with_failure(UNFIT, error, store)
    except JobError as error:
        return end_with_failure(BAD_JOB, error, store)
    except DiskFull as error:
        return end_with_failure(DISK_FULL, error.strerror, store)
    except Locked as error:
        return end_with_failure(LOCKED, error)
    except RuntimeError as error:
        if "torch" not in sys.modules:
            raise
        from ..loop.device_faults import device_exit_code

        code = device_exit_code(error)
        if code is None:
            raise
        return end_with_failure(code, error, store)
    finally:
        watch.end()


def _open(trial: Trial) -> OutputStore:
    try:
        return OutputStore(trial.job)
    except DiskFull:
        raise
    except OSError as error:
        raise Unfit(
            f"{trial.job.outputDir} in the store cannot be written here: {error.strerror} ({error.filename}); check "
            "training.kubernetes.store and the user that the trainer runs as"
        ) from None


class _Watch:
    """Ends the process if the trial takes too long, and reports the step. Code that hangs may handle no signals."""

    def __init__(self, seconds: float) -> None:
        self._what = ""
        self._seconds = seconds
        self._timer = threading.Timer(seconds, self._give_up)
        self._timer.daemon = True
        self._timer.start()

    def at(self, what: str) -> None:
        self._what = what

    def end(self) -> None:
        self._timer.cancel()

    def _give_up(self) -> None:
        end_with_failure(UNFIT, f"the trial did not end within {self._seconds:g} s; it was trying {self._what}")
        sys.stderr.flush()
        os._exit(UNFIT)
