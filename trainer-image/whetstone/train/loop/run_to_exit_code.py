"""One training with an exit code for every way in which it can end."""

from __future__ import annotations

from threading import Event

from whetstone.engine import ModelError, NotFinite
from whetstone.envs.errors import SandboxError
from whetstone.sampling import SamplerInterrupted, SamplerRefused
from whetstone.sampling.managed_server import ManagedServer

from ..job.exit_codes import (
    BAD_JOB,
    DISK_FULL,
    DIVERGED,
    ENVIRONMENT_DIFFERS,
    ENVIRONMENT_FAILED,
    ENVIRONMENT_KILLED,
    LOCKED,
    SAMPLER_REFUSED,
    STOPPED,
    UNATTENDED,
)
from ..loss.calibrated_reward import EnvironmentDiffers
from ..loss.divergence import Diverged
from ..output.disk import DiskFull
from ..output.failure import end_cancelled, end_with_failure
from ..output.store import Locked, OutputStore
from .base_model import BaseModel
from .compute_turn import ComputeTurn
from .device_faults import device_exit_code
from .rollouts import EnvironmentFailed
from .run import run_job


def run_to_exit_code(
    store: OutputStore,
    stop: Event,
    started: float,
    base: BaseModel | None = None,
    turn: ComputeTurn | None = None,
    server: ManagedServer | None = None,
) -> int:
    """Runs the job of an output directory and returns its exit code. A failure is also written to the directory.

    It takes the arguments of run_job.
    """
    try:
        if run_job(store.job, store, stop, started, base, turn, server):
            return 0
        return _left(store, stop)
    except SamplerInterrupted:
        return _left(store, stop)
    except ModelError as error:
        return end_with_failure(BAD_JOB, error, store)
    except (EnvironmentFailed, SandboxError) as error:
        killed = isinstance(error, SandboxError) and error.type == "Sandbox.EnvironmentKilled"
        return end_with_failure(ENVIRONMENT_KILLED if killed else ENVIRONMENT_FAILED, error, store)
    except EnvironmentDiffers as error:
        return end_with_failure(ENVIRONMENT_DIFFERS, error, store)
    except SamplerRefused as error:
        return end_with_failure(SAMPLER_REFUSED, error, store)
    except DiskFull as error:
        return end_with_failure(DISK_FULL, error.strerror, store)
    except (Diverged, NotFinite) as error:
        return end_with_failure(DIVERGED, error, store)
    except Locked as error:
        return end_with_failure(LOCKED, error)
    except Exception as error:
        code = device_exit_code(error)
        if code is None:
            raise
        return end_with_failure(code, error, store)


def _left(store: OutputStore, stop: Event) -> int:
    """The exit code of a training that had to stop early."""
    if store.cancelled:
        return end_cancelled(store)
    return UNATTENDED if store.unattended and not stop.is_set() else STOPPED
