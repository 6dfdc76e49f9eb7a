"""One job from its imports to its exit code."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

from whetstone.engine import ModelError
from whetstone.envs.errors import SandboxError

from .grpo import Diverged
from .members import Member
from .outcome import BAD_JOB, DIVERGED, ENVIRONMENT_FAILED, LOCKED, STOPPED, cancelled, fail
from .rollouts import EnvironmentFailed
from .run import run_job
from .store import Locked

if TYPE_CHECKING:
    from .base import Base
    from .turns import Turn


def train_member(
    member: Member, stop: Event, started: float, base: Base | None = None, turn: Turn | None = None
) -> int:
    """Runs the job and returns its exit code; a failure stays in its output directory."""
    store = member.store
    try:
        if run_job(member.job, store, stop, started, base, turn):
            return 0
        return cancelled(store) if store.cancelled else STOPPED
    except ModelError as error:
        return fail(BAD_JOB, error, store)
    except (EnvironmentFailed, SandboxError) as error:
        return fail(ENVIRONMENT_FAILED, error, store)
    except Diverged as error:
        return fail(DIVERGED, error, store)
    except Locked as error:
        return fail(LOCKED, error)
