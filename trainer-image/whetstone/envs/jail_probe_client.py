"""Runs ``jail_probe.py`` through the trainer's own launch path, once per process and profile."""

import os
import pathlib

from . import jail
from .errors import SandboxError
from .process import EnvironmentProcess

PROBE = pathlib.Path(__file__).with_name("jail_probe.py")
NAMESPACES = ("user", "pid", "net", "ipc", "uts", "mnt")

_passed = set()


def require_jail(profile):
    """Raises SandboxError "Sandbox.Unavailable", which names every missing layer; does nothing if all layers work."""
    if profile.path in _passed:
        return
    missing = probe(profile)
    if missing:
        sentences = " ".join(f"Layer {name}: {wrong}." for name, wrong in missing.items())
        raise SandboxError(
            "Sandbox.Unavailable", f"The jail cannot be started, so no generated code is run. {sentences}"
        )
    _passed.add(profile.path)


def probe(profile):
    """{layer: its fault} of the jail on this machine; empty if every layer works."""
    process = EnvironmentProcess(jail.launch(profile, "jail"), profile, "jail probe")
    try:
        with process.start(PROBE.read_text(encoding="utf-8")):
            facts = process.request("task", {"seed": 0})["task"]
            missing = {name: wrong for name, wrong in facts["layers"].items() if wrong is not None}
            limits = profile.settings["rlimits"]
            loose = [name for name, limit in limits.items() if not 0 <= facts["rlimits"].get(name, -1) <= limit]
            if loose:
                missing["limits"] = f"limits are not in force ({', '.join(loose)})"
            return missing | host_view(profile, process.pid)
    except SandboxError as error:
        return {"start": f"it did not come up ({error.message})"}


def host_view(profile, pid):
    """Properties that only the host can see: the kernel's user id of the jail, and its namespaces."""
    try:
        inner = last_descendant(pid)
        uid = pathlib.Path(f"/proc/{inner}").stat().st_uid
        shared = [name for name in NAMESPACES if _namespace(inner, name) == _namespace("self", name)]
    except OSError as error:
        return {"namespaces": f"the jail's process could not be examined ({error}); mount /proc"}
    missing = {}
    uids = profile.settings["uids"]
    expected = uids["first"] <= uid < uids["first"] + uids["count"] if os.geteuid() == 0 else uid == os.geteuid()
    if not expected:
        missing["kernel-user"] = f"the kernel runs the jail as user {uid}"
    if shared:
        missing["namespaces"] = f"the jail shares namespaces with the host ({', '.join(shared)})"
    return missing


def last_descendant(pid):
    """Process id of the innermost single child."""
    while children := pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pid = int(children[0])
    return pid


def _namespace(pid, name):
    return os.readlink(f"/proc/{pid}/ns/{name}")
