"""Tier: integration. A managed server, with a program in vLLM's place: restarted, given up, ended with its trainer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.trainer import ENVIRONMENT
from whetstone.sampling import SamplerRefused
from whetstone.sampling.managed_server import ManagedServer
from whetstone.sampling.vllm_command import ServerNeeds

NEEDS = ServerNeeds("/models/tiny", rank=12, adapters=3, loaded=6, length=2048, gpu=False, gpu_share=0.4)
PACKAGE = {"PYTHONPATH": ENVIRONMENT["PYTHONPATH"]}
# Notes its process id, and has a helper in its process group as vLLM has its engine.
STAYS = '#!/bin/sh\nsleep 600 &\necho "$$ $!" >> "{notes}"\nwait\n'
ENDS = '#!/bin/sh\necho "$$ $$" >> "{notes}"\necho "ValueError: no such model"\nexit 1\n'


def make_program(directory: Path, text: str) -> tuple[dict[str, str], Path]:
    """Environment variables that name the program, and the file with the process ids of each of its starts."""
    notes, program = directory / "notes", directory / "python"
    program.write_text(text.format(notes=notes))
    program.chmod(0o755)
    return {**os.environ, "WHET_VLLM_PYTHON": str(program)}, notes


def starts(notes: Path) -> list[list[int]]:
    return [[int(pid) for pid in line.split()] for line in notes.read_text().splitlines()] if notes.exists() else []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_server_that_is_killed_is_started_again_and_ends_when_it_is_closed(tmp_path: Path) -> None:
    environment, notes = make_program(tmp_path, STAYS)
    server = ManagedServer(NEEDS, tmp_path / "log", environment)
    wait_until(lambda: len(starts(notes)) == 1)
    first, helper = starts(notes)[0]
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: len(starts(notes)) == 2)
    # What is left of the first one would hold its memory.
    assert not is_alive(helper) and not server.ended
    server.close()
    assert not any(is_alive(pid) for pid in starts(notes)[1]) and server.ended


def test_a_server_goes_with_a_trainer_that_is_killed(tmp_path: Path) -> None:
    environment, notes = make_program(tmp_path, STAYS)
    script = (
        "import os, time; from pathlib import Path\n"
        "from whetstone.sampling.managed_server import ManagedServer\n"
        "from whetstone.sampling.vllm_command import ServerNeeds\n"
        f"server = ManagedServer({NEEDS!r}, Path({str(tmp_path / 'log')!r}), dict(os.environ))\n"
        "time.sleep(600)\n"
    )
    trainer = subprocess.Popen([sys.executable, "-c", script], env={**environment, **PACKAGE})
    wait_until(lambda: len(starts(notes)) == 1)
    trainer.kill()
    trainer.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in starts(notes)[0]))


def test_a_server_that_cannot_start_is_given_up_with_its_last_words(tmp_path: Path) -> None:
    environment, notes = make_program(tmp_path, ENDS)
    server = ManagedServer(NEEDS, tmp_path / "log", environment)
    wait_until(lambda: server.ended)
    assert len(starts(notes)) == 3 and "ValueError: no such model" in server.last_words()
    server.close()


def test_a_trainer_without_vllm_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SamplerRefused, match="WHET_VLLM_PYTHON is /nowhere"):
        ManagedServer(NEEDS, tmp_path / "log", {"WHET_VLLM_PYTHON": "/nowhere"})
    monkeypatch.setattr("whetstone.sampling.vllm_command.INSTALLED", tmp_path / "none")
    with pytest.raises(SamplerRefused, match=r"training\.sampler is managed: .* run scripts/vllm\.sh"):
        ManagedServer(NEEDS, tmp_path / "log", {})
