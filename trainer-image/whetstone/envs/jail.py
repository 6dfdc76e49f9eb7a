"""Launches the environment runtime for the trainer, in the same jail as ``sandbox/`` and from the same profile.

Processes are started with posix_spawn. A fork of a process with torch would copy the page tables of gigabytes, and
could deadlock on another thread's lock.
"""

import contextlib
import dataclasses
import fcntl
import itertools
import json
import os
import pathlib
import random
import signal
import sys

from . import control_group, jail_plan
from .errors import SandboxError

PROJECT_PROFILE = pathlib.Path(__file__).resolve().parents[3] / "sandbox" / "profile.json"
RUNTIME = pathlib.Path(__file__).with_name("runtime") / "__main__.py"

# Descriptors of the runtime's pipes.
STDIN, STDOUT, STDERR, REQUESTS, RESPONSES = range(5)
# Numbers from here on cannot collide with those above while descriptors are moved into place.
FIRST_FREE_FD = 64

REQUIRED = frozenset(
    {"bubblewrap", "command", "rlimits", "cgroup", "uids", "seccomp", "caps", "wallMs", "runtimeInJail"}
)

_uids = itertools.count(random.SystemRandom().randrange(1 << 30))


@dataclasses.dataclass(frozen=True)
class Profile:
    """``sandbox/profile.json`` (docs/reference/protocols.md, section 3). Its relative names start at its folder.

    Raises SandboxError for a file that is not a profile of version 1.
    """

    path: pathlib.Path
    settings: dict

    def __post_init__(self):
        missing = REQUIRED - set(self.settings)
        if self.settings.get("version") != 1 or missing:
            detail = (
                f"it lacks {', '.join(sorted(missing))}"
                if missing
                else f"its version is {self.settings.get('version')}"
            )
            raise SandboxError("Sandbox.Unavailable", f"{self.path} is not a profile of version 1: {detail}.")

    @property
    def caps(self):
        """Limits of bytes and counts for the parent."""
        return self.settings["caps"]

    @property
    def wall_seconds(self):
        """Deadlines by name: start, request, close."""
        return {name: milliseconds / 1000 for name, milliseconds in self.settings["wallMs"].items()}


def load_profile(path=None):
    """Reads a profile: at ``path``, at WHET_JAIL_PROFILE, or the project's. Raises SandboxError if it cannot."""
    path = pathlib.Path(path or os.environ.get("WHET_JAIL_PROFILE") or PROJECT_PROFILE)
    try:
        return Profile(path, json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise SandboxError("Sandbox.Unavailable", f"The jail's profile {path} cannot be read: {error}.") from error


@dataclasses.dataclass
class Launched:
    """A started runtime. The owner of this object closes the file descriptors and reaps the process."""

    pid: int
    requests: int
    responses: int
    logs: int
    # control_group.ControlGroup; None if none can be made, and outside a jail.
    group: object = None

    def kill(self):
        """Kills the process group; every process in the jail dies with it. Harmless if it is already gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def broke_memory_limit(self):
        """Whether the process was killed because the jail had reached its own memory limit. Ask before `release`."""
        return self.group is not None and self.group.broke_memory_limit()

    def release(self):
        """Removes the control group. Call it after the process has ended."""
        if self.group is not None:
            self.group.release()


def launch(profile, isolation):
    """Starts the runtime. isolation: "jail", or "process" for an environment that its owner trusts.

    The jail dies with the thread that starts it (bubblewrap's --die-with-parent). So call this in a thread that lives
    long enough. Raises SandboxError "Sandbox.Unavailable" if a part of the jail is missing.
    """
    if isolation not in ("jail", "process"):
        raise ValueError(f'isolation is {isolation!r}; it may be "jail" or "process"')
    group, started = None, False
    with contextlib.ExitStack() as stack:

        def own(descriptor):
            moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD)
            os.close(descriptor)
            stack.callback(_close, moved)
            return moved

        request_reader, request_writer = map(own, os.pipe())
        response_reader, response_writer = map(own, os.pipe())
        log_reader, log_writer = map(own, os.pipe())
        null = own(os.open(os.devnull, os.O_RDONLY))
        files = {
            STDIN: null,
            STDOUT: log_writer,
            STDERR: log_writer,
            REQUESTS: request_reader,
            RESPONSES: response_writer,
        }
        if isolation == "jail":
            uid = next_uid(profile)
            plan = plan_of(profile, uid)
            group = control_group.create(profile.settings["cgroup"], uid)
            if group is not None:
                stack.callback(lambda: None if started else group.release())
            command = [*(group.join_prefix() if group else []), *plan["limits"], *plan["command"]]
            argument_reader, argument_writer = map(own, os.pipe())
            filter_reader, filter_writer = map(own, os.pipe())
            files |= {jail_plan.ARGUMENTS: argument_reader, jail_plan.SECCOMP: filter_reader}
        else:
            command = [sys.executable, "-I", "-S", str(RUNTIME)]
        actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in files.items()]
        pid = os.posix_spawn(command[0], command, {}, file_actions=actions, setpgroup=0)
        if isolation == "jail":
            # bubblewrap starts nothing before it has read its arguments, so everything that it starts is in the group.
            _join(group, pid)
            with contextlib.suppress(BrokenPipeError):
                os.write(filter_writer, plan["filter"])
                arguments = itertools.chain.from_iterable(plan["arguments"])
                os.write(argument_writer, b"".join(argument.encode() + b"\0" for argument in arguments))
        kept = [
            fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FIRST_FREE_FD)
            for fd in (request_writer, response_reader, log_reader)
        ]
        started = True
    return Launched(pid, *kept, group)


def _join(group, pid):
    """Puts the process into its group. If that fails, kills it, because it must not run without the group's limits."""
    try:
        if group is not None:
            group.join(pid)
    except OSError:
        os.kill(pid, signal.SIGKILL)


def _close(descriptor):
    with contextlib.suppress(OSError):
        os.close(descriptor)


def next_uid(profile):
    """The kernel's user id for a jail that root starts. None for other users: bubblewrap keeps their user id.

    A jail with the kernel's uid 0 may write kernel settings even without a capability.
    """
    if os.geteuid() != 0:
        return None
    uids = profile.settings["uids"]
    return uids["first"] + next(_uids) % uids["count"]


def plan_of(profile, uid):
    """The ``jail_plan.plan`` of a profile, for a jail with the user of `next_uid`.

    Raises SandboxError if a part is missing.
    """
    try:
        plan = jail_plan.plan(profile.settings, profile.path.parent)
        if uid is None:
            return plan
        setpriv = jail_plan.program("setpriv", "install util-linux")
    except jail_plan.MissingPartError as error:
        raise SandboxError(
            "Sandbox.Unavailable", f"The jail cannot be started, so no generated code is run. {error}"
        ) from error
    drop = [setpriv, f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    return plan | {"limits": [*drop, *plan["limits"]]}
