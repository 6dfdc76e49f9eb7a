"""Tier: integration. Several jobs in one command: each adapter as if trained alone, each failure its own."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from pathlib import Path
from threading import Event

import pytest
from fixtures.trainer import LETTERS, make_job, read_curve, start_jobs, wait_for_iteration
from whetstone.train.job import parse_job
from whetstone.train.loop.run_to_exit_code import run_to_exit_code
from whetstone.train.output.store import OutputStore
from whetstone.tree_hash import tree_sha256

RAISES = "\n    def step(self, call):\n        raise KeyError('lost')\n\n    say = step\n"


def jobs_of(model: Path, root: Path) -> list[dict]:
    """Two jobs that differ in everything that may differ."""
    other = make_job(model, root / "b", rank=2, iterations=4, groups=3, learningRate=0.005, klBeta=0.0)
    return [make_job(model, root / "a"), {**other, "jobId": "other", "seed": 9, "taskSeedStart": 4000}]


def result_of(output: Path) -> tuple[str, list[dict], list[dict]]:
    """The adapter's hash, the manifest's curve and the progress lines without their timings."""
    manifest = json.loads((output / "manifest.json").read_text())
    assert manifest["adapterSha256"] == tree_sha256(output / "adapter")
    return manifest["adapterSha256"], manifest["curve"], read_curve(output)


def failure_of(output: Path) -> dict:
    return json.loads((output / "failure.json").read_text())


@pytest.fixture(scope="module")
def alone(tiny_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple]:
    """Results of the two jobs, each trained by itself, in this process."""
    root = tmp_path_factory.mktemp("alone")
    assert [train(job) for job in jobs_of(tiny_dir, root)] == [0, 0]
    return [result_of(root / name) for name in "ab"]


def train(job: dict) -> int:
    """Exit code of the job, alone."""
    parsed = parse_job(json.dumps(job))
    return run_to_exit_code(OutputStore(parsed), Event(), time.perf_counter())


def test_jobs_end_as_if_they_were_alone(alone: list[tuple], tiny_dir: Path, tmp_path: Path) -> None:
    process = start_jobs(jobs_of(tiny_dir, tmp_path), tmp_path)
    errors = process.communicate()[1]
    assert process.returncode == 0, errors
    assert [result_of(tmp_path / name) for name in "ab"] == alone

    before = [(tmp_path / name / "manifest.json").stat().st_mtime_ns for name in "ab"]
    process = start_jobs(jobs_of(tiny_dir, tmp_path), tmp_path)
    process.communicate()
    assert process.returncode == 0
    assert [(tmp_path / name / "manifest.json").stat().st_mtime_ns for name in "ab"] == before


def test_stopped_and_killed_commands_go_on_where_each_job_was(
    alone: list[tuple], tiny_dir: Path, tmp_path: Path
) -> None:
    jobs = jobs_of(tiny_dir, tmp_path)
    process = start_jobs(jobs, tmp_path)
    wait_for_iteration(tmp_path / "a", 1, process)
    process.send_signal(signal.SIGTERM)
    errors = process.communicate()[1]
    assert process.returncode == 143, errors
    for name in "ab":
        output = tmp_path / name
        lines = len(read_curve(output)) if (output / "progress.jsonl").exists() else 0
        assert lines == 0 or (output / "checkpoints" / f"iteration-{lines:04d}").is_dir()
        assert not (output / "failure.json").exists()

    process = start_jobs(jobs, tmp_path)
    wait_for_iteration(tmp_path / "a", 3, process)
    process.kill()
    process.communicate()
    # The jobs' processes die with the process that started them, and so do their locks.
    for name in "ab":
        wait_for_lock(tmp_path / name)

    process = start_jobs(jobs, tmp_path)
    errors = process.communicate()[1]
    assert process.returncode == 0, errors
    assert [result_of(tmp_path / name) for name in "ab"] == alone


def wait_for_lock(output: Path) -> None:
    """Returns when nobody holds the directory's lock; fails after 30 s."""
    deadline = time.monotonic() + 30
    with (output / ".lock").open("w") as lock:
        while True:
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                assert time.monotonic() < deadline, f"{output} is still locked"
                time.sleep(0.01)


def test_a_job_that_fails_leaves_and_the_others_go_on(alone: list[tuple], tiny_dir: Path, tmp_path: Path) -> None:
    raises = tmp_path / "raises.py"
    raises.write_text(LETTERS.read_text() + RAISES)
    changed = make_job(tiny_dir, tmp_path / "changed")
    changed["environments"][0]["sha256"] = "0" * 64
    jobs = [
        jobs_of(tiny_dir, tmp_path)[1],
        make_job(tiny_dir, tmp_path / "raises", [raises]),
        changed,
        make_job(tiny_dir, tmp_path / "bad", rank=0),
        make_job(tiny_dir, tmp_path / "unloved"),
    ]
    (tmp_path / "unloved").mkdir()
    (tmp_path / "unloved" / "cancel").touch()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "failure.json").write_text('{"code": 65, "message": "of an earlier attempt"}')
    process = start_jobs(jobs, tmp_path)
    process.communicate()
    assert process.returncode == 65
    assert result_of(tmp_path / "b") == alone[1]
    assert not (tmp_path / "b" / "failure.json").exists()
    failures = {name: failure_of(tmp_path / name) for name in ("raises", "changed", "bad", "unloved")}
    assert {name: failure["code"] for name, failure in failures.items()} == {
        "raises": 65,
        "changed": 64,
        "bad": 64,
        "unloved": 143,
    }
    assert "'lost'" in failures["raises"]["message"]
    assert "the job says 000" in failures["changed"]["message"]
    assert "algorithm.rank is 0" in failures["bad"]["message"]
    assert failures["unloved"]["message"] == "cancelled"


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_cancelled_and_killed_members_do_not_stop_the_others(
    alone: list[tuple], tiny_dir: Path, tmp_path: Path
) -> None:
    jobs = jobs_of(tiny_dir, tmp_path)
    victim = make_job(tiny_dir, tmp_path / "victim", iterations=500)
    long = make_job(tiny_dir, tmp_path / "long", iterations=500)
    process = start_jobs([jobs[1], long, victim], tmp_path)
    for name in ("long", "victim"):
        wait_for_iteration(tmp_path / name, 1, process)
    # In the order of the command line.
    os.kill(children_of(process.pid)[-1], signal.SIGKILL)
    # Another trainer may take over who has left, while the others go on.
    wait_for_lock(tmp_path / "victim")
    assert process.poll() is None
    (tmp_path / "long" / "cancel").touch()
    process.communicate()
    assert process.returncode == 137
    assert result_of(tmp_path / "b") == alone[1]
    assert failure_of(tmp_path / "long") == {"code": 143, "message": "cancelled"}
    lines = len(read_curve(tmp_path / "long"))
    assert (tmp_path / "long" / "checkpoints" / f"iteration-{lines:04d}").is_dir()
    assert failure_of(tmp_path / "victim") == {"code": 137, "message": "job test was killed by signal 9"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"threads": 2}, "threads is 2 in job other and 1 in job test"),
        ({"isolation": "jail"}, "isolation is"),
        ({"outputDir": "/a/../{a}"}, "outputDir is"),
    ],
)
def test_jobs_that_do_not_go_together_are_refused(change: dict, words: str, tiny_dir: Path, tmp_path: Path) -> None:
    jobs = jobs_of(tiny_dir, tmp_path)
    jobs[1] |= {
        key: str(value).format(a=jobs[0]["outputDir"]) if key == "outputDir" else value for key, value in change.items()
    }
    process = start_jobs(jobs, tmp_path)
    assert words in process.communicate()[1]
    assert process.returncode == 64
    assert not (tmp_path / "a").exists()


def test_a_locked_job_ends_the_command_before_any_work(tiny_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with (tmp_path / "b" / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = start_jobs(jobs_of(tiny_dir, tmp_path), tmp_path)
        assert "another trainer is working in" in process.communicate()[1]
    assert process.returncode == 75
    assert not (tmp_path / "a" / "progress.jsonl").exists()


def test_one_job_leaves_its_failure_too(tiny_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    raises = tmp_path / "raises.py"
    raises.write_text(LETTERS.read_text() + RAISES)
    assert train(make_job(tiny_dir, tmp_path / "out", [raises])) == 65
    assert failure_of(tmp_path / "out")["code"] == 65
    assert failure_of(tmp_path / "out")["message"] in capsys.readouterr().err


def test_one_job_that_is_cancelled_leaves_at_once(tiny_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "cancel").touch()
    assert train(make_job(tiny_dir, tmp_path / "out")) == 143
    assert failure_of(tmp_path / "out") == {"code": 143, "message": "cancelled"}
    assert read_curve(tmp_path / "out") == []
