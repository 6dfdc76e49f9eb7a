"""Opens environments for the trainer: one process for each, and many requests in a line.

with open_environment("environment.py", isolation="jail") as environment:
    tools = environment.describe()["tools"]
    outcomes = environment.batch([{"method": "reset", "params": {"episode": 1, "seed": 7}}, ...])
"""

import pathlib

from . import jail
from .jail_probe_client import require_jail
from .process import EnvironmentProcess


def open_environment(path, isolation="jail", profile=None):
    """Starts a process for the environment module at ``path`` and loads it.

    isolation: "jail" for generated code, "process" for the owner's. profile: path of a ``sandbox/profile.json``;
    default: the project's. Raises SandboxError: "Sandbox.Unavailable" if a layer of the jail is missing,
    "Sandbox.EnvironmentRaised" or "Sandbox.BadReturn" for faults of the source.
    """
    path = pathlib.Path(path)
    loaded = jail.load_profile(profile)
    if isolation == "jail":
        require_jail(loaded)
    return EnvironmentProcess(jail.launch(loaded, isolation), loaded, path.stem).start(path.read_text(encoding="utf-8"))
