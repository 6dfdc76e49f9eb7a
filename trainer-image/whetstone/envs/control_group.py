"""Control groups of jails: their places and limits, and the groups of the trainer's own jails.

A group limits memory, processes and, if the kernel allows it, processor time of one jail. If groups cannot be made (in
most containers), the jail has only its rlimits.
"""

import contextlib
import dataclasses
import functools
import itertools
import os
import pathlib
import random
import re
import time

MOUNT = pathlib.Path("/sys/fs/cgroup")
NAME = re.compile(r"whetstone-jail-(\d+)-\d+")
# In microseconds. It is short, so that a jail that has used its share waits only briefly.
CPU_PERIOD = 10_000
# Missing on kernels without swap accounting; a stricter limit of processor time is better than none.
DISPENSABLE = frozenset({"memory.swap.max", "cpu.max"})
# The kernel still counts a killed process for a moment.
RELEASE_SECONDS = 2.0

# The numbers start at random, because a group of an earlier process with the same process id may still exist.
_numbers = itertools.count(random.SystemRandom().randrange(1 << 30))


@dataclasses.dataclass(frozen=True)
class Controller:
    """The place of groups, and the files of one: {file: function of the limits}.

    `needed`: without this file no group is made.
    """

    directory: pathlib.Path
    settings: dict
    needed: bool = True


@dataclasses.dataclass(frozen=True)
class ControlGroup:
    """The group of one jail, with a directory for each controller."""

    version: int
    directories: list

    def join_prefix(self):
        """Version 1: command prefix with which a process joins the group by itself, which needs no lock.

        Empty for version 2.
        """
        if self.version == 2:
            return []
        script = 'for group in $0; do echo 0 > "$group/tasks" || exit 71; done; exec "$@"'
        return ["/bin/sh", "-c", script, " ".join(map(str, self.directories))]

    def join(self, pid):
        """Version 2: puts a process into the group.

        Raises OSError if the group refuses it; a process that has ended is no error.
        """
        if self.version == 2:
            with contextlib.suppress(ProcessLookupError):
                (self.directories[0] / "cgroup.procs").write_text(str(pid))

    def broke_memory_limit(self):
        """Whether the kernel killed a process of the group because the group had reached its own limit."""
        return any(_reached_limit(directory) and _had_kill(directory) for directory in self.directories)

    def release(self):
        """Removes the group. Call it when its processes have ended; a later start removes a remaining group."""
        deadline = time.monotonic() + RELEASE_SECONDS
        for directory in self.directories:
            while not _removed(directory) and time.monotonic() < deadline:
                time.sleep(0.01)


def layout(limits):
    """The places where this process and its parent may make groups, and the files of one, for ``sandbox/cgroup.ts``."""
    version, controllers = _controllers(os.getpid())
    return {
        "layer": ("none", "v1", "v2")[version],
        "controllers": [
            {
                "directory": str(controller.directory),
                "settings": {file: value(limits) for file, value in controller.settings.items()},
                "needed": controller.needed,
            }
            for controller in controllers
        ],
    }


def create(limits, uid):
    """A group with the profile's `cgroup` limits below this process's own group; None if none can be made.

    uid: the jail's user in the kernel, who must be able to join; None if it is ours.
    """
    version, controllers = _controllers(os.getpid())
    name = f"whetstone-jail-{os.getpid()}-{next(_numbers)}"
    made = []
    for controller in controllers:
        directory = controller.directory / name
        try:
            _make(directory, controller.settings, limits)
            if version == 1 and uid is not None:
                os.chown(directory / "tasks", uid, uid)
            made.append(directory)
        except OSError:
            _removed(directory)
            if controller.needed:
                for other in made:
                    _removed(other)
                return None
    return ControlGroup(version, made) if made else None


def _make(directory, settings, limits):
    directory.mkdir()
    # The mode is independent of the umask, because the jail's user must be able to enter it.
    directory.chmod(0o755)
    for file, value in settings.items():
        try:
            (directory / file).write_text(value(limits))
        except OSError:
            if file not in DISPENSABLE:
                raise


@functools.lru_cache(maxsize=1)
def _controllers(_pid):
    """(version, controllers) of this process, whose id is the argument: a fork may be in another group."""
    try:
        version, controllers = _find(pathlib.Path("/proc/self/cgroup").read_text())
        for controller in controllers:
            if not os.access(controller.directory, os.W_OK):
                return 0, []
            _sweep(controller.directory)
        return version, controllers
    except (OSError, KeyError):
        return 0, []


def _find(text):
    own = {}
    for line in text.splitlines():
        _, names, path = line.split(":", 2)
        own |= dict.fromkeys(names.split(","), path.lstrip("/"))
    if "memory" in own and "pids" in own:
        return 1, _version_1(own)
    directory = MOUNT / own[""]
    enabled = (directory / "cgroup.subtree_control").read_text().split()
    if not {"memory", "pids"} <= set(enabled):
        return 0, []
    settings = {
        "memory.max": lambda limits: str(limits["memoryBytes"]),
        "memory.swap.max": lambda _: "0",
        "memory.oom.group": lambda _: "1",
        "pids.max": lambda limits: str(limits["processes"]),
    }
    if "cpu" in enabled:
        settings["cpu.max"] = lambda limits: f"{_quota(limits)} {CPU_PERIOD}"
    return 2, [Controller(directory, settings)]


def _version_1(own):
    memory = Controller(MOUNT / "memory" / own["memory"], {"memory.limit_in_bytes": lambda x: str(x["memoryBytes"])})
    processes = Controller(MOUNT / "pids" / own["pids"], {"pids.max": lambda limits: str(limits["processes"])})
    cpu = Controller(
        MOUNT / "cpu" / own.get("cpu", ""),
        {"cpu.cfs_period_us": lambda _: str(CPU_PERIOD), "cpu.cfs_quota_us": lambda limits: str(_quota(limits))},
        needed=False,
    )
    return [memory, processes, *([cpu] if "cpu" in own and os.access(cpu.directory, os.W_OK) else [])]


def _quota(limits):
    return limits["cpuPercent"] * CPU_PERIOD // 100


def _reached_limit(directory):
    """Version 2's `oom` counts only that, and so does version 1's failcnt."""
    return (
        _count(directory / "memory.events", r"^oom (\d+)$") > 0 or _count(directory / "memory.failcnt", r"^(\d+)$") > 0
    )


def _had_kill(directory):
    return any(_count(directory / file, r"^oom_kill (\d+)$") > 0 for file in ("memory.events", "memory.oom_control"))


def _count(file, pattern):
    try:
        found = re.search(pattern, file.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _sweep(directory):
    """Removes groups that a killed trainer or worker left behind."""
    for entry in directory.iterdir():
        owner = NAME.fullmatch(entry.name)
        if owner and not pathlib.Path(f"/proc/{owner[1]}").exists():
            _removed(entry)


def _removed(directory):
    """Removes a directory; False while it is still in use."""
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
