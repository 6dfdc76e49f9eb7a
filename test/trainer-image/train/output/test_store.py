"""Tier: unit. Two trainers that hold one output directory."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path

import pytest
from fixtures.trainer import make_job
from whetstone.train.job import parse_job
from whetstone.train.output.store import Fenced, OutputStore


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
        with pytest.raises(Fenced, match="has taken over"):
            publish()
    newer.add_progress({"iteration": 2})
    assert [line["iteration"] for line in newer.rewind(9)] == [1, 2]
    assert older.latest() is None
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_the_fence_keeps_a_twin_out(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def flock(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    job = parse_job(json.dumps(make_job(tiny_dir, tmp_path / "out")))
    older, newer = OutputStore(job), OutputStore(job)
    newer.add_progress({"iteration": 1})
    with pytest.raises(Fenced, match="has taken over"):
        older.add_progress({"iteration": 1})
    older.release()


def test_a_manifest_whose_adapter_is_damaged_is_not_done(tiny_dir: Path, tmp_path: Path) -> None:
    job = parse_job(json.dumps(make_job(tiny_dir, tmp_path / "out")))
    store = OutputStore(job)
    sha256 = store.save_adapter(lambda directory: (directory / "adapter_config.json").write_text("{}"))
    store.save_manifest({"adapterDir": "adapter", "adapterSha256": sha256})
    assert store.done
    (store.adapter / "adapter_config.json").write_text("{")
    assert not store.done
    assert sorted(path.name for path in store.root.glob("manifest*")) == ["manifest.damaged.json"]
