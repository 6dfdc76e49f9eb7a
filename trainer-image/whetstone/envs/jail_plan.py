"""How to start a jail on this machine: the programs, limits, arguments and the filter, derived from its profile.

The trainer's launcher imports this module. The worker's launcher, in TypeScript, runs it as a script with a profile as
its argument. The script prints the plan, with the filter in Base64 and the layout of the control groups. Only the
standard library is used, as in ``python_root.py``.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys

if not __package__:
    # The script is started with -I, so its own directory is not on the path.
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import control_group
    import python_root
else:
    from . import control_group, python_root

# Descriptors of bubblewrap's pipes with its arguments and with the filter. They are closed before the environment's
# code runs.
ARGUMENTS, SECCOMP = 5, 6


class MissingPartError(Exception):
    """A part of the jail is missing; the message is a sentence with the remedy."""


def plan(profile, folder):
    """The plan for a profile (the content of ``sandbox/profile.json``), whose filters are in a folder:

    {"limits": command prefix that sets the limits, "command": bubblewrap with the command that it runs inside,
    "arguments": groups of arguments that bubblewrap reads from a pipe, because everybody can read a command line,
    "filter": bytes of the seccomp filter}. ``${AGENT_FOLDER}`` stays in the arguments, and the caller replaces it.

    Raises MissingPartError.
    """
    bubblewrap = program("bwrap", "install bubblewrap 0.8 or newer (Debian and Ubuntu: `apt install bubblewrap`)")
    limits = profile["rlimits"]
    prefix = [
        program("prlimit", "install util-linux"),
        f"--as={limits['addressSpaceBytes']}",
        f"--core={limits['coreBytes']}",
        f"--cpu={limits['cpuSeconds']}",
        f"--fsize={limits['fileSizeBytes']}",
        f"--memlock={limits['lockedMemoryBytes']}",
        f"--msgqueue={limits['messageQueueBytes']}",
        f"--nofile={limits['openFiles']}",
        f"--sigpending={limits['pendingSignals']}",
        f"--stack={limits['stackBytes']}",
    ]
    if os.geteuid() == 0:
        # In this case each jail has its own user. Twice the inner limit, because bubblewrap's own processes count here.
        prefix.append(f"--nproc={limits['threads'] * 2}")
    seccomp = seccomp_filter(profile, pathlib.Path(folder))
    values = {"RUNTIME": profile["runtimeInJail"], "THREADS": str(limits["threads"])}
    # The profile for programs of an agent's owner has the machine's own /usr instead.
    if any("${PYTHON_ROOT}" in text for group in profile["bubblewrap"] for text in group):
        try:
            values["PYTHON_ROOT"] = str(python_root.ensure_root())
        except python_root.RootError as error:
            raise MissingPartError(f"The jail's Python tree could not be built. {error}") from error

    def fill(texts):
        return [re.sub(r"\$\{([A-Z_]+)\}", lambda match: values.get(match[1], match[0]), text) for text in texts]

    return {
        "limits": prefix,
        "command": [bubblewrap, "--args", str(ARGUMENTS), "--seccomp", str(SECCOMP), *fill(profile["command"])],
        "arguments": [fill(group) for group in profile["bubblewrap"]],
        "filter": seccomp,
    }


def program(name, remedy):
    """Path of a program, found in the absolute directories of PATH and in the sbin directories, which service managers
    omit from PATH.
    """
    directories = [*os.environ.get("PATH", "").split(os.pathsep), "/usr/sbin", "/sbin"]
    found = shutil.which(name, path=os.pathsep.join(place for place in directories if place.startswith("/")))
    if found is None:
        raise MissingPartError(f"{name} is not on PATH: {remedy}.")
    return found


def seccomp_filter(profile, folder):
    """This machine's filter.

    It is compared with the profile's hash, because a changed or truncated filter would still load, but protect less.
    """
    machine = os.uname().machine
    entry = profile["seccomp"].get(machine)
    if entry is None:
        raise MissingPartError(
            f"There is no seccomp filter for {machine}: add the architecture to sandbox/seccomp.ts and build it."
        )
    remedy = "with `node dist/sandbox/build-seccomp.js`."
    try:
        content = (folder / entry["file"]).read_bytes()
    except OSError as error:
        raise MissingPartError(
            f"The seccomp filter {entry['file']} cannot be read ({error.strerror}): restore it {remedy}"
        ) from error
    if hashlib.sha256(content).hexdigest() != entry["sha256"]:
        raise MissingPartError(
            f"The seccomp filter {entry['file']} is not the one that profile.json names: restore both {remedy}"
        )
    return content


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    try:
        made = plan(**asked)
    except MissingPartError as error:
        sys.exit(str(error))
    made["filter"] = base64.b64encode(made["filter"]).decode()
    print(json.dumps(made | {"cgroup": control_group.layout(asked["profile"]["cgroup"])}))
