"""Tier: unit. The directory that jail trees are kept in: what is removed from it, and what never is."""

from __future__ import annotations

import os
import time

import pytest
from whetstone.envs import python_root, stale_trees

OLD = time.time() - (stale_trees.KEEP_DAYS + 1) * 86400
NAME = "0123456789abcdef" * 2


def make_tree(path, age=OLD):
    path.mkdir(parents=True)
    (path / "runtime.pyc").write_bytes(b"x")
    os.utime(path, (age, age))
    return path


def make_file(path, age=OLD):
    path.write_text("mine")
    os.utime(path, (age, age))
    return path


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A directory with things of its owner's, chosen as WHET_JAIL_ROOT."""
    monkeypatch.setenv("WHET_JAIL_ROOT", str(tmp_path))
    (tmp_path / "thesis").mkdir()
    make_file(tmp_path / "thesis" / "chapter-1.tex")
    (tmp_path / NAME[::-1]).mkdir()
    for name in (".bashrc", f"{NAME}.txt", f"{NAME}0.tree", f".{NAME}.backup"):
        make_file(tmp_path / name)
    (tmp_path / f"{NAME[1:]}0.tree").symlink_to(tmp_path / "thesis")
    for name in ("thesis", NAME[::-1]):
        os.utime(tmp_path / name, (OLD, OLD))
    return tmp_path


def test_building_a_tree_leaves_what_is_not_ours(home):
    before = {path.name for path in home.iterdir()}
    python_root.find_or_build()
    assert before <= {path.name for path in home.iterdir()}
    assert (home / "thesis" / "chapter-1.tex").read_text() == "mine"


def test_old_trees_and_unfinished_builds_go_and_young_ones_stay(tmp_path):
    gone = [make_tree(tmp_path / NAME), make_tree(tmp_path / f".{NAME}.{'ab' * 6}")]
    young = make_tree(tmp_path / NAME[::-1], time.time())
    stale_trees.prune(tmp_path)
    assert not [path for path in gone if path.exists()]
    assert young.exists()


def test_a_directory_that_others_can_change_is_refused_before_anything_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("WHET_JAIL_ROOT", str(tmp_path))
    tree = make_tree(tmp_path / NAME)
    tmp_path.chmod(0o777)
    with pytest.raises(python_root.RootError, match="can be changed by another user"):
        python_root.find_or_build()
    assert tree.exists()


def test_what_another_process_removes_meanwhile_is_no_error(tmp_path, monkeypatch):
    names = [f"{number:032x}" for number in range(4)]
    for name in names:
        make_tree(tmp_path / name)
    scandir = os.scandir

    def scan_and_lose(directory):
        if directory != tmp_path:
            return scandir(directory)
        entries = list(scandir(directory))
        for name in names[1:]:
            (tmp_path / name / "runtime.pyc").unlink()
            (tmp_path / name).rmdir()
        return entries

    monkeypatch.setattr(os, "scandir", scan_and_lose)
    stale_trees.prune(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_long_lived_process_touches_its_tree_again_every_day(monkeypatch):
    touched = []
    monkeypatch.setattr(python_root, "find_or_build", lambda: touched.append(1))
    for days in (100.1, 100.9, 101.2):
        monkeypatch.setattr(python_root.time, "monotonic", lambda now=days * python_root.DAY_SECONDS: now)
        python_root.ensure_root()
    assert len(touched) == 2
    python_root._ensured.cache_clear()
