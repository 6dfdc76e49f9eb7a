"""Tier: jail. The trainer's jails are in control groups, where groups may be written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from fixtures.counter_environment import COUNTER, add, profile_with
from whetstone.envs import control_group
from whetstone.envs.client import open_environment
from whetstone.envs.errors import SandboxError
from whetstone.envs.jail import load_profile
from whetstone.envs.jail_probe_client import last_descendant

LIMITS = load_profile().settings["cgroup"]

needs_groups = pytest.mark.skipif(
    control_group._controllers(os.getpid())[0] == 0, reason="control groups cannot be written here"
)


def groups_of(pid: int) -> list[Path]:
    """Directories of the jail's groups that a process is in."""
    found = []
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "whetstone-jail-" in path:
            found.append(control_group.MOUNT / controllers / path.lstrip("/"))
    return found


def limit(groups: list[Path], *files: str) -> int:
    """What the first of the files says that one of the groups has."""
    return next(int((group / file).read_text()) for file in files for group in groups if (group / file).exists())


@needs_groups
def test_a_jail_is_in_a_group_with_the_profiles_limits_until_it_ends(module):
    with open_environment(module()) as environment:
        groups = groups_of(last_descendant(environment.pid))
        assert limit(groups, "memory.limit_in_bytes", "memory.max") == LIMITS["memoryBytes"]
        assert limit(groups, "pids.max") == LIMITS["processes"]
    assert groups and not any(group.exists() for group in groups)


@needs_groups
def test_a_jail_over_its_memory_is_at_fault_and_not_killed_from_outside(module, tmp_path):
    source = COUNTER + '\n    def step(self, call):\n        self.held = b"x" * (200 << 20)\n        return 5\n'
    profile = profile_with(tmp_path)
    settings = json.loads(profile.read_text())
    settings["cgroup"]["memoryBytes"] = 64 << 20
    profile.write_text(json.dumps(settings))
    with open_environment(module(source), profile=profile) as environment:
        environment.request("reset", {"episode": 1, "seed": 1})
        with pytest.raises(SandboxError, match="more than its 64 MiB of memory") as error:
            environment.request("step", {"episode": 1, "calls": [add(1)]})
    assert error.value.type == "Sandbox.EnvironmentDied"


def test_a_group_that_a_killed_trainer_left_is_removed_by_the_next(tmp_path):
    left = tmp_path / "whetstone-jail-999999999-1"
    own = tmp_path / f"whetstone-jail-{os.getpid()}-1"
    for directory in (left, own):
        directory.mkdir()
    control_group._sweep(tmp_path)
    assert [left.exists(), own.exists()] == [False, True]
