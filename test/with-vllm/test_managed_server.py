"""Tier: integration, with vLLM. A server that the trainer starts: ended with it, started again after a crash."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from fixtures.trainer import make_job, read_curve, start_trainer
from test_training import slow
from vllm_process import PYTHON, START_SECONDS


def servers(model: Path) -> dict[int, int]:
    """Process ids of vLLM servers of this model, and their process groups."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
            if str(model).encode() in command and b"vllm.entrypoints.openai.api_server" in command:
                found[int(entry.name)] = os.getpgid(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition, process, seconds: float = START_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline and (process is None or process.poll() is None)
        time.sleep(0.05)


def test_a_managed_server_goes_with_its_trainer_and_comes_back_after_a_crash(tmp_path: Path, tmp_path_factory) -> None:
    from fixtures.tiny_model import make_model

    model = make_model(tmp_path_factory.mktemp("managed"), kv_heads=1, tied=True, heads=2, positions=1024)
    output = tmp_path / "out"
    job = {**make_job(model, output, [slow(tmp_path)], iterations=10), "checkpointEvery": 1, "sampler": "managed"}

    def iterations() -> int:
        return len(read_curve(output)) if (output / "progress.jsonl").exists() else 0

    # A trainer that is killed leaves no server behind.
    process = start_trainer(job, tmp_path / "job", WHET_VLLM_PYTHON=PYTHON)
    wait_until(lambda: iterations() >= 2, process)
    [group] = servers(model).values()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not lives(group), None, 60)
    # The next one goes on. Its server is killed in the middle of an iteration.
    process = start_trainer(job, tmp_path / "job", WHET_VLLM_PYTHON=PYTHON)
    wait_until(lambda: iterations() >= 5, process)
    [group] = servers(model).values()
    os.killpg(group, signal.SIGKILL)
    wait_until(lambda: (output / "waiting").exists(), process, 60)
    said = process.communicate()[1]
    assert process.returncode == 0, said
    lines = read_curve(output)
    assert [line["iteration"] for line in lines] == list(range(1, 11))
    # After the crash, too, the samples are those of the current adapter.
    assert max(line["samplerMismatch"]["mean"] for line in lines) < 1e-3
    assert not servers(model)
