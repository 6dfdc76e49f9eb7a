"""Tier: jail. The jail refuses to start without any of its layers, and dies with the process that opened it."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import sys
import time

import pytest
from fixtures.counter_environment import COUNTER, profile_with
from whetstone.envs import jail, jail_plan, jail_probe_client, runtime
from whetstone.envs.client import open_environment
from whetstone.envs.errors import SandboxError


def test_jail_dies_with_the_process_that_opened_it(module):
    source = COUNTER + "\n    def reset(self, seed):\n        import time; time.sleep(1000)\n"
    program = (
        "import sys, threading; sys.path.insert(0, sys.argv[1])\n"
        "from whetstone.envs.client import open_environment\n"
        "from whetstone.envs.jail_probe_client import last_descendant\n"
        "environment = open_environment(sys.argv[2])\n"
        "print(environment.pid, last_descendant(environment.pid), flush=True)\n"
        "environment.request('reset', {'episode': 1, 'seed': 1})\n"
    )
    package = str(pathlib.Path(runtime.__file__).parents[3])
    parent = subprocess.Popen(
        [sys.executable, "-c", program, package, str(module(source))], stdout=subprocess.PIPE, text=True
    )
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    # The kernel needs a moment; without an end the loop would hide the failure.
    for _ in range(2000):
        left = [pid for pid in pids if not is_gone(pid)]
        if not left:
            break
        time.sleep(0.01)
    assert left == []


def is_gone(pid):
    """Whether a process has ended; one that waits for its parent to notice counts."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_every_layer_of_the_jail_holds():
    assert jail_probe_client.probe(jail.load_profile()) == {}


@contextlib.contextmanager
def refused(sentence):
    """Expects Sandbox.Unavailable with a sentence."""
    with pytest.raises(SandboxError) as caught:
        yield
    assert caught.value.type == "Sandbox.Unavailable"
    assert sentence in str(caught.value)


def test_jail_needs_bubblewrap(module, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with refused("bwrap is not on PATH"):
        open_environment(module(), profile=profile_with(tmp_path))


def test_programs_are_looked_up_in_absolute_directories_only(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "planted").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "planted").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".:bin:/nonexistent:/bin")
    with pytest.raises(jail_plan.MissingPartError):
        jail_plan.program("planted", "remove it")
    assert jail_plan.program("sh", "install it") == "/bin/sh"


def test_jail_needs_its_own_filter(module, tmp_path):
    profile = profile_with(tmp_path)
    for path in tmp_path.glob("*.bpf"):
        path.write_bytes(path.read_bytes()[:-8])
    with refused("is not the one that profile.json names"):
        open_environment(module(), profile=profile)


def test_jail_finds_a_missing_layer(module, tmp_path):
    profile = profile_with(tmp_path)
    settings = json.loads(profile.read_text())
    settings["bubblewrap"].append(["--tmpfs", "/tmp"])
    profile.write_text(json.dumps(settings))
    with refused("Layer read-only-tree: files can be made in /tmp/"):
        open_environment(module(), profile=profile)


def test_profile_of_another_version_is_refused(module, tmp_path):
    (tmp_path / "profile.json").write_text('{"version": 2}')
    with refused("is not a profile of version 1"):
        open_environment(module(), profile=tmp_path / "profile.json")
