"""Tier: integration. The trainer's command: its losses, its files, and what a kill leaves behind."""

from __future__ import annotations

import fcntl
import json
import math
import os
import signal
from pathlib import Path

import pytest
import whetstone
from fixtures.trainer import LETTERS, make_job, read_curve, start_trainer, wait_for_iteration
from safetensors.torch import load_file
from whetstone.tree_hash import tree_sha256

# Made by this very job; a change here is a change of the algorithm.
PINNED_REWARDS = [0.5541666667, 0.6, 0.5666666667, 0.5708333333, 0.675, 0.6416666667]
PINNED_LOSSES = [-8.3e-10, -0.0220482, -0.000574185, 0.000816868, 0.00156815, 0.00208222]


@pytest.fixture(scope="module")
def finished(tiny_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Output directory of an undisturbed run."""
    root = tmp_path_factory.mktemp("finished")
    process = start_trainer(make_job(tiny_dir, root / "out"), root)
    errors = process.communicate()[1]
    assert process.returncode == 0, errors
    return root / "out"


def test_pinned_trajectory(finished: Path) -> None:
    curve = read_curve(finished)
    assert [line["reward"] for line in curve] == pytest.approx(PINNED_REWARDS, abs=1e-9)
    assert [line["loss"] for line in curve] == pytest.approx(PINNED_LOSSES, abs=1e-4)


def test_manifest_says_what_was_made(finished: Path, tiny_dir: Path) -> None:
    manifest = json.loads((finished / "manifest.json").read_text())
    # An adapter is reused only where the trainer has the same version.
    assert manifest["trainerVersion"] == whetstone.__version__
    assert manifest["rollouts"] == 48
    assert manifest["iterations"] == 6
    assert manifest["adapterSha256"] == tree_sha256(finished / "adapter")
    assert manifest["baseModelSha256"] == tree_sha256(tiny_dir)
    assert [point["iteration"] for point in manifest["curve"]] == [1, 2, 3, 4, 5, 6]
    assert set(manifest["seconds"]) == {"total", "generation", "update", "startup"}
    assert manifest["completionTokens"] == sum(line["completionTokens"] for line in read_curve(finished))
    assert sorted(path.name for path in finished.iterdir() if not path.name.startswith(".")) == [
        "adapter",
        "checkpoints",
        "fence",
        "job.sha256",
        "manifest.json",
        "progress.jsonl",
        "samples",
        "tensorboard",
    ]
    assert [path.name for path in sorted((finished / "checkpoints").iterdir())] == ["iteration-0004", "iteration-0006"]


def test_done_job_is_a_no_op(finished: Path, tiny_dir: Path, tmp_path: Path) -> None:
    before = (finished / "manifest.json").stat().st_mtime_ns
    process = start_trainer(make_job(tiny_dir, finished), tmp_path)
    process.communicate()
    assert process.returncode == 0
    assert (finished / "manifest.json").stat().st_mtime_ns == before


def test_killed_and_stopped_run_ends_like_an_undisturbed_one(finished: Path, tiny_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    job = make_job(tiny_dir, output)
    process = start_trainer(job, tmp_path)
    wait_for_iteration(output, 3, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (output / "manifest.json").exists()
    kept = len(read_curve(output))

    process = start_trainer(job, tmp_path)
    wait_for_iteration(output, min(kept + 1, 6), process)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode in (0, 143)
    if process.returncode == 143:
        done = len(read_curve(output))
        assert (output / "checkpoints" / f"iteration-{done:04d}").is_dir()
        process = start_trainer(job, tmp_path)
        process.communicate()
        assert process.returncode == 0

    assert read_curve(output) == read_curve(finished)
    ours, theirs = (load_file(root / "adapter" / "adapter_model.safetensors") for root in (output, finished))
    assert all((ours[name] == theirs[name]).all() for name in theirs)
    assert tree_sha256(output / "adapter") == tree_sha256(finished / "adapter")


def test_command_exits_64_for_a_bad_job(tiny_dir: Path, tmp_path: Path) -> None:
    process = start_trainer(make_job(tiny_dir, tmp_path / "out", rank=0), tmp_path)
    assert "algorithm.rank is 0" in process.communicate()[1]
    assert process.returncode == 64


def test_command_exits_64_for_the_directory_of_another_job(tiny_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "job.sha256").write_text("0" * 64)
    process = start_trainer(make_job(tiny_dir, output), tmp_path)
    assert "holds another job" in process.communicate()[1]
    assert process.returncode == 64


def test_command_exits_75_while_the_lock_is_held(tiny_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    with (output / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = start_trainer(make_job(tiny_dir, output), tmp_path)
        assert "another trainer is working in" in process.communicate()[1]
    assert process.returncode == 75


def test_a_damaged_checkpoint_costs_only_its_own_iterations(finished: Path, tiny_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    process = start_trainer(make_job(tiny_dir, output), tmp_path)
    wait_for_iteration(output, 5, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    (output / "checkpoints" / "iteration-0004" / "optimizer.pt").write_bytes(b"PK")
    process = start_trainer(make_job(tiny_dir, output), tmp_path)
    errors = process.communicate()[1]
    assert process.returncode == 0, errors
    assert "checkpoint iteration-0004 cannot be used: optimizer.pt has changed" in errors
    assert read_curve(output) == read_curve(finished)


def test_an_environment_that_was_killed_is_no_fault_of_its_own(tiny_dir: Path, tmp_path: Path) -> None:
    environment = tmp_path / "killed.py"
    # From inside, which looks the same as a kill from outside.
    kill = "\n    def step(self, call):\n        import os, signal\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    environment.write_text(LETTERS.read_text() + kill + "\n    say = step\n")
    process = start_trainer(make_job(tiny_dir, tmp_path / "out", [environment]), tmp_path)
    errors = process.communicate()[1]
    assert process.returncode == 69, errors
    assert "was killed by signal 9, and not by a limit of its own" in errors


def test_a_job_that_nobody_attends_to_ends_with_a_checkpoint(tiny_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "attended").touch()
    process = start_trainer(make_job(tiny_dir, output, iterations=500), tmp_path, WHET_ATTENDED_MINUTES="0.00001")
    assert "no worker has attended" in process.communicate()[1]
    assert process.returncode == 76
    done = len(read_curve(output))
    assert 0 < done < 500
    assert (output / "checkpoints" / f"iteration-{done:04d}").is_dir()


def test_a_field_of_a_newer_worker_names_both_versions(tiny_dir: Path, tmp_path: Path) -> None:
    job = make_job(tiny_dir, tmp_path / "out", brandNew=1)
    process = start_trainer(job, tmp_path, WHET_WORKER_VERSION="9.9.9")
    errors = process.communicate()[1]
    assert process.returncode == 64
    assert "unknown field algorithm.brandNew" in errors
    assert f"worker (version 9.9.9) is newer than this trainer (version {whetstone.__version__})" in errors
    assert "training.kubernetes.image" in errors


def test_a_full_disk_ends_with_its_own_code_and_a_whole_checkpoint(
    finished: Path, tiny_dir: Path, tmp_path: Path
) -> None:
    output = tmp_path / "disk"
    output.mkdir()
    files = (finished / "checkpoints" / "iteration-0004").iterdir()
    # Room for one checkpoint and the small files, but not for the adapter beside it.
    size = 4096 * (sum(math.ceil(path.stat().st_size / 4096) for path in files) + 8)
    # Root needs no user namespace; everybody else needs one, as the jail does.
    namespaces = "-m" if os.geteuid() == 0 else "-Urm"
    mount = ["unshare", namespaces, "sh", "-c", f'mount -t tmpfs -o size={size} t "$0" && exec "$@"', str(output)]
    keep = ["sh", "-c", '"$@"; code=$?; cp -r "$0" "$0-kept"; exit $code', str(output)]
    process = start_trainer(make_job(tiny_dir, output), tmp_path, prefix=[*mount, *keep])
    errors = process.communicate()[1]
    assert process.returncode == 74, errors
    assert f"the disk of {output}" in errors
    assert "training continues without it" in errors
    kept = tmp_path / "disk-kept" / "checkpoints"
    assert [path.name for path in kept.iterdir()] == ["iteration-0002"]
