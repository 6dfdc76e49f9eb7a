"""Tier: unit. Job files that are refused, and with which words."""

from __future__ import annotations

import copy
import fcntl
import json
import math
from pathlib import Path

import pytest
from fixtures.trainer import make_job, start_trainer
from whetstone.train.job import JobError, check_inputs, parse_job
from whetstone.train.store import Fenced, OutputStore


def changed(job: dict, path: str, value: object) -> dict:
    job = copy.deepcopy(job)
    *parents, last = path.split(".")
    place = job
    for name in parents:
        place = place[name]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return job


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("jobId", KeyError, "jobId is missing"),
        ("jobId", 3, "jobId is 3; it must be a string"),
        ("jobId", "", "non-empty"),
        ("seed", -1, "seed is -1"),
        ("seed", True, "whole number"),
        ("seed", 1.5, "whole number"),
        ("colour", "red", "unknown field colour"),
        ("baseModel", "relative/path", "absolute path"),
        ("environments", [], "at least one"),
        ("environments", {}, "list of environments"),
        ("environments", [{"id": "a", "path": "/x"}], r"environments\[0\]\.sha256 is missing"),
        ("isolation", "none", "'jail' or 'process'"),
        ("threads", 0, "threads is 0"),
        ("checkpointEvery", 0, "checkpointEvery is 0"),
        ("taskSeedStart", 2**53, "taskSeedStart"),
        ("algorithm", [], "algorithm must be a JSON object"),
        ("algorithm.rank", 0, "algorithm.rank is 0; it must be from 1 to 512"),
        ("algorithm.ranks", 8, "unknown field algorithm.ranks"),
        ("algorithm.alpha", "64", "algorithm.alpha is"),
        ("algorithm.rolloutsPerGroup", 1, "from 2 to 256"),
        ("algorithm.iterations", 0, "algorithm.iterations"),
        ("algorithm.learningRate", 0, "learningRate"),
        ("algorithm.learningRate", math.nan, "not finite"),
        ("algorithm.clip", 1, "below 1"),
        ("algorithm.temperature", 0, "rollouts must differ"),
        ("algorithm.warmupIterations", 7, "from 0 to 6"),
        ("algorithm.dropConstantGroups", 1, "true or false"),
        ("algorithm.hintShare", 1.1, "hintShare is 1.1; it must be from 0 to 1"),
        ("algorithm.decisionTurnsOnly", "no", "true or false"),
        ("algorithm.supervisedWeight", -1, "from 0 to 100"),
        ("algorithm.updateTokens", -1, "from 0"),
        ("algorithm.rewardCollapse", 1, "below 1"),
    ],
)
def test_refused(path: str, value: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(JobError, match=words):
        parse_job(json.dumps(changed(make_job(tmp_path, tmp_path / "out"), path, value)))


def test_defaults_are_those_of_the_paper(tmp_path: Path) -> None:
    job = parse_job(json.dumps(changed(make_job(tmp_path, tmp_path / "out"), "algorithm", {})))
    algorithm = job.algorithm
    assert (algorithm.rank, algorithm.groups, algorithm.rolloutsPerGroup, algorithm.iterations) == (32, 4, 4, 40)
    assert algorithm.rollouts * algorithm.iterations == 640


def test_hash_ignores_layout_and_sees_values(tmp_path: Path) -> None:
    raw = make_job(tmp_path, tmp_path / "out")
    one = parse_job(json.dumps(raw, indent=4))
    two = parse_job(json.dumps(dict(reversed(raw.items()))))
    assert one.sha256 == two.sha256
    assert one.sha256 != parse_job(json.dumps(changed(raw, "seed", 6))).sha256


def test_hash_is_that_of_earlier_versions_while_later_options_are_at_their_defaults(tmp_path: Path) -> None:
    raw = make_job(tmp_path, tmp_path / "out")
    before = parse_job(json.dumps(raw)).sha256
    assert parse_job(json.dumps(changed(raw, "algorithm.hintShare", 0))).sha256 == before
    assert parse_job(json.dumps(changed(raw, "algorithm.hintShare", 0.25))).sha256 != before


def test_inputs_must_be_what_the_job_says(tiny_dir: Path, tmp_path: Path) -> None:
    raw = make_job(tiny_dir, tmp_path / "out")
    check_inputs(parse_job(json.dumps(raw)))
    with pytest.raises(JobError, match="not a model directory"):
        check_inputs(parse_job(json.dumps(changed(raw, "baseModel", str(tmp_path)))))
    other = [{**raw["environments"][0], "sha256": "0" * 64}]
    with pytest.raises(JobError, match="the job says 000"):
        check_inputs(parse_job(json.dumps(changed(raw, "environments", other))))


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


def test_a_twin_that_was_overtaken_publishes_nothing(tiny_dir: Path, tmp_path: Path) -> None:
    job = parse_job(json.dumps(make_job(tiny_dir, tmp_path / "out")))
    older = OutputStore(job)
    older.add_progress({"iteration": 1})
    # A file system without locks: the twin on another node gets in.
    older._lock.close()
    newer = OutputStore(job)
    written = []
    for publish in (
        lambda: older.add_progress({"iteration": 2}),
        lambda: older.save_checkpoint(2, written.append),
        lambda: older.save_adapter(written.append),
        lambda: older.save_manifest({}),
    ):
        with pytest.raises(Fenced, match="has taken .* over"):
            publish()
    newer.add_progress({"iteration": 2})
    assert [line["iteration"] for line in newer.rewind(9)] == [1, 2]
    assert older.latest() is None
    assert not (tmp_path / "out" / "manifest.json").exists()
