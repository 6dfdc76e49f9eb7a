"""Tier: jail. The file tree that is the jail's root."""

from __future__ import annotations

import os

import pytest
from whetstone.envs import python_root


def test_python_tree_is_built_once_and_readable(tmp_path, monkeypatch):
    monkeypatch.setenv("WHET_JAIL_ROOT", str(tmp_path / "trees"))
    build = python_root.find_or_build
    previous = os.umask(0o077)
    try:
        tree = build()
    finally:
        os.umask(previous)
    before = tree.stat().st_ino
    assert build() == tree
    assert tree.stat().st_ino == before
    names = {path.name for path in tree.iterdir()}
    assert {"usr", "dev", "tmp", "runtime.pyc"} <= names
    assert not names & {"etc", "home", "root", "proc"}
    for path in [tree, *tree.rglob("*")]:
        mode = path.stat().st_mode
        assert mode & 0o004
        assert not mode & 0o022
    assert not list(tree.rglob("site-packages")) + list(tree.rglob("ensurepip"))


def test_python_tree_of_somebody_else_is_refused(tmp_path, monkeypatch):
    directory = tmp_path / "trees"
    directory.mkdir()
    directory.chmod(0o777)
    monkeypatch.setenv("WHET_JAIL_ROOT", str(directory))
    with pytest.raises(python_root.RootError, match="can be changed by another user"):
        python_root.find_or_build()
