"""Tier: integration. The runtime as one file of byte code."""

from __future__ import annotations

import json
import os
import sys

from fixtures.counter_environment import COUNTER
from whetstone.envs import bundle


def test_runtime_imports_little():
    imports = {
        line.split()[1].split(".")[0]
        for path in bundle.sources()
        # It imports only where a clock is asked for that is ahead.
        if path.stem != "clock"
        for line in path.read_text().splitlines()
        if line.lstrip().startswith(("import ", "from ")) and " import " in f" {line}" and not line.startswith("from .")
    }
    # What these load besides, each start would pay for: json alone brings re, enum and functools.
    assert imports <= {"_json", "_sha2", "_sha256", "io", "os", "resource", "sys"}


def test_bundle_holds_every_module_of_the_runtime():
    found = {path.stem for path in bundle.RUNTIME.glob("*.py")}
    assert found == {"__init__", "__main__", *bundle.MODULES}


def test_bundle_serves_without_the_sources(module, tmp_path):
    packed = tmp_path / "runtime.pyc"
    packed.write_bytes(bundle.bundle())
    requests, responses = os.pipe(), os.pipe()
    body = {"id": 1, "method": "load", "params": {"source": module(COUNTER).read_text()}}
    os.write(requests[1], json.dumps(body).encode() + b"\n")
    os.close(requests[1])
    actions = [(os.POSIX_SPAWN_DUP2, requests[0], 3), (os.POSIX_SPAWN_DUP2, responses[1], 4)]
    command = [sys.executable, "-I", "-S", str(packed)]
    pid = os.posix_spawn(sys.executable, command, {}, file_actions=actions)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert json.loads(os.read(responses[0], 1 << 16))["result"]["apiVersion"] == 1
    for descriptor in (requests[0], *responses):
        os.close(descriptor)
