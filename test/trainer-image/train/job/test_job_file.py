"""Tier: unit. Job files: which are refused, with which words, and which hash they have."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path

import pytest
from fixtures.trainer import JOB_FILE, make_job
from whetstone.train.job import JobError, check_inputs, parse_job


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
        ("environments", {}, "environments must be a list"),
        ("unwatched", 3, "unwatched is 3; it must be a string"),
        ("watch", {"environment": {}}, r"watch\.environment\.id is missing"),
        ("environments", [{"id": "a", "path": "/x"}], r"environments\[0\]\.sha256 is missing"),
        ("isolation", "none", "'jail' or 'process'"),
        ("sampler", "sglang", 'sampler is "sglang"; it must be one of engine, vllm, managed'),
        ("sampler", "vllm", 'samplerUrl is ""; it must be an address'),
        ("samplerUrl", "http://vllm:8000", "when sampler is vllm, else left out"),
        ("maxModelLength", 2048, "maxModelLength is 2048; it must be 0 or more when sampler is managed, else left out"),
        ("threads", 0, "threads is 0"),
        ("checkpointEvery", 0, "checkpointEvery is 0"),
        ("taskSeedStart", 2**53, "taskSeedStart"),
        ("algorithm", [], "algorithm must be a JSON object"),
        ("algorithm.rank", 0, "algorithm.rank is 0; it must be from 1 to 512"),
        ("algorithm.ranks", 8, "unknown field algorithm.ranks"),
        ("algorithm.alpha", "64", "algorithm.alpha is"),
        ("algorithm.rolloutsPerGroup", 1, "2 or more"),
        ("algorithm.iterations", 0, "algorithm.iterations"),
        ("algorithm.learningRate", 0, "learningRate"),
        ("algorithm.learningRate", math.nan, "not finite"),
        ("algorithm.clip", 0, "algorithm.clip is 0.0; it must be above 0"),
        ("algorithm.temperature", 0, "above 0"),
        ("algorithm.warmupIterations", 7, "at most algorithm.iterations, which is 6"),
        ("algorithm.dropConstantGroups", 1, "true or false"),
        ("algorithm.hintShare", 1.1, "hintShare is 1.1; it must be from 0 to 1"),
        ("algorithm.decisionTurnsOnly", "no", "true or false"),
        ("algorithm.supervisedWeight", -1, "from 0 to 100"),
        ("algorithm.updateTokens", -1, "from 0"),
        ("algorithm.rewardCollapse", 1, "0 or more, below 1"),
    ],
)
def test_refused(path: str, value: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(JobError, match=words):
        parse_job(json.dumps(changed(make_job(tmp_path, tmp_path / "out"), path, value)))


def test_job_file_of_the_worker_has_its_hash() -> None:
    # Output directories of unfinished trainings carry this hash; a trainer that computes another refuses them.
    pinned = "83a3d78a2eea6be3c42c24dc4b796fb5a247485b840ddf7f1513ac5bb5232428"
    assert parse_job(JOB_FILE.read_text()).sha256 == pinned
    raw = json.loads(JOB_FILE.read_text())
    other = parse_job(json.dumps(changed(raw, "algorithm.hintShare", 0.25)))
    assert other.sha256 == "fc45a89d41a3d44a0032d23cf3705a05a077294cfc0ff71b13924b11d500794f"


def test_hash_ignores_layout_and_sees_values(tmp_path: Path) -> None:
    raw = make_job(tmp_path, tmp_path / "out")
    one = parse_job(json.dumps(raw, indent=4))
    two = parse_job(json.dumps(dict(reversed(raw.items()))))
    assert one.sha256 == two.sha256
    assert one.sha256 != parse_job(json.dumps(changed(raw, "seed", 6))).sha256


def test_the_sampler_is_in_the_hash_and_its_address_is_not(tmp_path: Path) -> None:
    raw = make_job(tmp_path, tmp_path / "out")
    engine = parse_job(json.dumps(raw)).sha256
    assert parse_job(json.dumps({**raw, "sampler": "engine"})).sha256 == engine
    served = [{**raw, "sampler": "vllm", "samplerUrl": f"http://vllm-{number}:8000"} for number in (1, 2)]
    first, second = (parse_job(json.dumps(job)).sha256 for job in served)
    assert first == second != engine


def test_the_length_of_a_managed_sampler_is_in_the_hash_where_there_is_one(tmp_path: Path) -> None:
    raw = {**make_job(tmp_path, tmp_path / "out"), "sampler": "managed"}
    hashes = [
        parse_job(json.dumps(one)).sha256 for one in (raw, raw | {"maxModelLength": 0}, raw | {"maxModelLength": 9})
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_inputs_must_be_what_the_job_says(tiny_dir: Path, tmp_path: Path) -> None:
    raw = make_job(tiny_dir, tmp_path / "out")
    check_inputs(parse_job(json.dumps(raw)))
    with pytest.raises(JobError, match="not a model directory"):
        check_inputs(parse_job(json.dumps(changed(raw, "baseModel", str(tmp_path)))))
    other = [{**raw["environments"][0], "sha256": "0" * 64}]
    with pytest.raises(JobError, match="the job says 000"):
        check_inputs(parse_job(json.dumps(changed(raw, "environments", other))))


def test_a_pod_refuses_a_job_without_the_jail(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = make_job(tiny_dir, tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    check_inputs(parse_job(json.dumps(changed(raw, "isolation", "jail"))))
    with pytest.raises(JobError, match="a pod runs generated code in the jail only; unset WHET_SANDBOX=unsafe"):
        check_inputs(parse_job(json.dumps(changed(raw, "isolation", "process"))))
