"""Removes jail trees that have not been used for a while. Every new version of the runtime makes a new tree."""

import contextlib
import os
import pathlib
import re
import shutil
import time

KEEP_DAYS = 14

# The user may have chosen a directory with other files, so only names that python_root.py gives are touched.
TREE = re.compile(r"[0-9a-f]{32}")
NOTE = re.compile(r"[0-9a-f]{32}\.tree")
UNFINISHED = re.compile(r"\.[0-9a-f]{32}(\.tree)?\.[0-9a-f]{12}")


def prune(directory):
    """Removes trees, notes and unfinished builds that nobody has used for KEEP_DAYS.

    Several processes may do so at the same time.
    """
    oldest = time.time() - KEEP_DAYS * 86400
    for entry in os.scandir(directory):
        # Gone meanwhile: another process prunes as well.
        with contextlib.suppress(FileNotFoundError):
            if entry.stat(follow_symlinks=False).st_mtime < oldest and is_ours(entry):
                remove(entry)


def is_ours(entry):
    """Whether an entry of the cache directory was made by python_root.py, by its name and kind."""
    if UNFINISHED.fullmatch(entry.name):
        return not entry.is_symlink()
    if entry.is_dir(follow_symlinks=False):
        return TREE.fullmatch(entry.name) is not None and pathlib.Path(entry.path, "runtime.pyc").exists()
    return entry.is_file(follow_symlinks=False) and NOTE.fullmatch(entry.name) is not None


def remove(entry):
    """Removes a tree or a file."""
    if entry.is_dir(follow_symlinks=False):
        shutil.rmtree(entry.path, ignore_errors=True)
    else:
        os.unlink(entry.path)
