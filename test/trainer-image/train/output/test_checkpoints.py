"""Tier: unit. Checkpoints that a crash, a disk or somebody's hand has damaged."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from whetstone.train.output.checkpoints import HASHES, Checkpoints
from whetstone.train.output.disk import DiskFull


def write(directory: Path) -> None:
    save_file({"a": torch.ones(4)}, directory / "adapter_model.safetensors")
    torch.save({"step": 1}, directory / "optimizer.pt")
    (directory / "trainer_state.json").write_text("{}")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def checkpoints(tmp_path: Path, said: list[str]) -> Checkpoints:
    made = Checkpoints(tmp_path / "checkpoints", said.append)
    for iteration in (2, 4):
        made.save(iteration, write, lambda: None)
    return made


def folder(tmp_path: Path, iteration: int) -> Path:
    return tmp_path / "checkpoints" / f"iteration-{iteration:04d}"


@pytest.mark.parametrize("name", ["adapter_model.safetensors", "optimizer.pt", "trainer_state.json"])
def test_the_one_before_is_taken(checkpoints: Checkpoints, said: list[str], tmp_path: Path, name: str) -> None:
    broken = folder(tmp_path, 4)
    content = (broken / name).read_bytes()
    (broken / name).write_bytes(content[: len(content) // 2])
    assert checkpoints.latest(9) == (folder(tmp_path, 2), 2)
    assert len(said) == 1
    assert "iteration-0004 cannot be used" in said[0]
    assert name in said[0]


def test_one_without_hashes_is_not_taken(checkpoints: Checkpoints, said: list[str], tmp_path: Path) -> None:
    (folder(tmp_path, 4) / HASHES).unlink()
    assert checkpoints.latest(9) == (folder(tmp_path, 2), 2)
    assert f"{HASHES} is missing" in said[0]


def test_an_empty_file_and_a_missing_one_are_damage(checkpoints: Checkpoints, tmp_path: Path) -> None:
    (folder(tmp_path, 4) / "optimizer.pt").unlink()
    (folder(tmp_path, 2) / "optimizer.pt").write_bytes(b"")
    assert checkpoints.latest(9) is None


def test_one_after_the_last_progress_line_is_not_taken(checkpoints: Checkpoints, tmp_path: Path) -> None:
    assert checkpoints.latest(3) == (folder(tmp_path, 2), 2)


def test_the_older_two_stay_until_the_newest_is_read_back(
    checkpoints: Checkpoints, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whetstone.train.output.checkpoints._damage", lambda _: "the disk lies")
    checkpoints.save(6, write, lambda: None)
    assert folder(tmp_path, 2).is_dir()
    assert "cannot be read back: the disk lies" in said[0]
    monkeypatch.undo()
    checkpoints.save(8, write, lambda: None)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["iteration-0006", "iteration-0008"]


def test_a_full_disk_leaves_the_older_ones(checkpoints: Checkpoints, tmp_path: Path) -> None:
    def fill(directory: Path) -> None:
        write(directory)
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskFull, match="is full, so checkpoint iteration-0006 could not be written"):
        checkpoints.save(6, fill, lambda: None)
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["iteration-0002", "iteration-0004"]


def test_a_file_that_nfs_keeps_open_stays_for_later(
    checkpoints: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = os.unlink

    def busy(path, **options) -> None:
        if str(path).endswith(".nfs0001"):
            raise OSError(errno.EBUSY, "Device or resource busy", path)
        unlink(path, **options)

    (folder(tmp_path, 2) / ".nfs0001").touch()
    monkeypatch.setattr("os.unlink", busy)
    checkpoints.save(6, write, lambda: None)
    assert [path.name for path in folder(tmp_path, 2).iterdir()] == [".nfs0001"]
    assert checkpoints.latest(9) == (folder(tmp_path, 6), 6)
    monkeypatch.undo()
    checkpoints.save(8, write, lambda: None)
    assert not folder(tmp_path, 2).exists()


@pytest.mark.parametrize(("code", "kept"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_a_folder_that_cannot_be_flushed_is_no_failure_but_a_bad_disk_is(
    checkpoints: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kept: bool
) -> None:
    fsync = os.fsync

    def refuse(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", refuse)
    if kept:
        checkpoints.save(6, write, lambda: None)
        assert checkpoints.latest(9) == (folder(tmp_path, 6), 6)
    else:
        with pytest.raises(OSError, match=os.strerror(code)):
            checkpoints.save(6, write, lambda: None)
