"""Tier: integration. The measurement of a GPU, with tiny shapes on a processor: it runs, and what breaks is said."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BENCH = ROOT / "bench" / "gpu"
UPDATES = ["update-4b", "update-8b", "update-30b"]
PARTS = ["devices", "exact", "update-4b", "adapters", "demo", "update-8b", "update-30b"]


def run_bench(out: Path, *options: str, **environment: str) -> dict:
    """Runs the measurement as on a card's machine and returns its JSON, which is also the last line."""
    command = [sys.executable, str(ROOT / "bench" / "gpu.py"), "--device", "cpu", "--tiny", "--minutes", "60"]
    everything = {**os.environ, "PYTHONPATH": "", **environment}
    done = subprocess.run(
        [*command, "--out", str(out), *options], env=everything, stdout=subprocess.PIPE, text=True, check=True
    )
    report = json.loads(done.stdout.splitlines()[-1])
    assert report == json.loads(out.read_text())
    assert done.stdout.startswith("versions: python ")
    return report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Of all parts."""
    return run_bench(tmp_path_factory.mktemp("gpu") / "gpu.json")


def test_every_case_of_every_part_runs(report: dict) -> None:
    assert (report["name"], report["device"], report["tiny"]) == ("gpu", "cpu", True)
    assert list(report["parts"]) == PARTS
    assert all(value != "none" for value in report["versions"].values())
    for part in report["parts"].values():
        assert set(part) == {"state", "reason", "seconds", "rows"}
        assert (part["state"], part["reason"]) == ("ran", None)
        for row in part["rows"]:
            assert (row["state"], row["reason"]) == ("ran", None), row
            assert row["seconds"] >= 0


def test_what_the_parts_find_is_right(report: dict) -> None:
    rows = {(part, row["case"]): row for part, found in report["parts"].items() for row in found["rows"]}
    assert "1 GPU was asked for" in rows["devices", "check"]["refused"]
    assert rows["devices", "matrix"]["matrixRate"] > 0
    exact = [row for (part, _), row in rows.items() if part == "exact"]
    assert len(exact) == 3 and all(row["within"] for row in exact), exact
    # The gradient is that of rewards that differ, and of a policy that is not the reference.
    assert all(abs(row["lossFloat64"]) > 1e-6 for row in exact)
    assert rows["adapters", "one and four"]["adapters"] == 4
    assert len(rows["demo", "training"]["windows"]) == 4
    for part in UPDATES:
        cases = [row for (name, _), row in rows.items() if name == part]
        assert [row["case"] for row in cases] == [
            f"{side} {case}" for case in ("128", "256 checkpointing", "256") for side in ("ours", "plain")
        ]
        for row in cases:
            assert row["estimateBytes"] > 0 and row["tokensPerSecond"] > 0 and row["shareOfMatrixRate"] > 0
            # Ours reads what rollouts begin with once, unless it checkpoints.
            ours = row["case"].startswith("ours") and "checkpointing" not in row["case"]
            assert (row["tokensRead"] < row["tokens"]) == ours
    assert rows["update-30b", "ours 128"]["adaptsExperts"]


def test_a_missing_package_is_said_and_the_others_go_on(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden" / "trl"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'trl'\", name='trl')\n")
    found = run_bench(tmp_path / "gpu.json", "--only", "adapters,devices", PYTHONPATH=str(hidden.parent))["parts"]
    assert found["adapters"]["state"] == "not run"
    assert found["adapters"]["reason"] == "a package is missing: No module named 'trl'"
    assert found["devices"]["state"] == "ran"


def test_wheels_that_cannot_be_installed_are_said(tmp_path: Path) -> None:
    (tmp_path / "trl-1.0.0-py3-none-any.whl").write_text("no wheel")
    assert "trl" in run_bench(tmp_path / "gpu.json", "--wheels", str(tmp_path), "--only", "devices")["wheels"]


def run_broken(limit: float, **settings: object) -> tuple[list[dict], list[int]]:
    """Rows of the part of broken cases, and how many rows there were each time they were left."""
    from parts import Part, run_part

    left: list[int] = []
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent / "stand-ins")}
    part = Part("broken", 0, settings)
    everywhere = {"device": "cpu", "tiny": True}
    outcome = run_part("broken", part, everywhere, environment, limit, lambda now: left.append(len(now.rows)))
    assert outcome.as_json()["rows"] == outcome.rows
    return outcome.rows, left


def test_a_case_that_breaks_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    rows, left = run_broken(600)
    assert left == [1, 2, 3, 4, 5]
    assert [(row["case"], row["state"], row["reason"]) for row in rows] == [
        ("runs", "ran", None),
        ("refuses", "not run", "there is no such card"),
        ("fails", "not run", "ValueError: no way"),
        ("crashes", "not run", "its process ended with 7: a fault"),
        ("runs after a crash", "ran", None),
    ]


def test_a_part_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    rows, _ = run_broken(15, hangs=True)
    assert [(row["case"], row["state"]) for row in rows] == [("hangs", "not run"), ("is not reached", "not run")]
    assert rows[0]["reason"].startswith("time: more than ")
    assert rows[1]["reason"] == "time: the 15 s of this part are over"


def test_a_part_that_has_no_time_is_not_begun(tmp_path: Path) -> None:
    found = run_bench(tmp_path / "gpu.json", "--minutes", "0.01")["parts"]
    assert list(found) == PARTS
    assert all(part["state"] == "not run" and part["reason"].startswith("time: ") for part in found.values())


def test_the_wheels_to_bring_are_those_of_the_trainer_image() -> None:
    named = re.findall(r"[a-z0-9]+==[0-9.]+", (ROOT / "bench" / "gpu.py").read_text())
    locked = (ROOT / "trainer-image" / "requirements.lock").read_text().splitlines()
    assert len(named) == 9
    assert [one for one in named if not any(line.startswith(f"{one} ") for line in locked)] == []
