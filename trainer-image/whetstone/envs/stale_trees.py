"""Removes jail trees that have not been used for some time. Every new version of the runtime makes a new tree."""

import contextlib
import os
import pathlib
import re
import shutil
import time

KEEP_DAYS = 14

# The user may have chosen a directory with other files, so only names in the form of python_root.py are touched.
TREE = re.compile(r"[0-9a-f]{32}")
UNFINISHED = re.compile(r"\.[0-9a-f]{32}\.[0-9a-f]{12}")


def prune(directory):
    """Removes trees and unfinished builds that nobody has used for KEEP_DAYS.

    Several processes may call it at the same time.
    """
    oldest = time.time() - KEEP_DAYS * 86400
    for entry in os.scandir(directory):
        # Another process may have removed it in parallel.
        with contextlib.suppress(FileNotFoundError):
            if entry.stat(follow_symlinks=False).st_mtime < oldest and is_ours(entry):
                shutil.rmtree(entry.path, ignore_errors=True)


def is_ours(entry):
    """Whether python_root.py made an entry of the cache directory, by its name and content."""
    if not entry.is_dir(follow_symlinks=False):
        return False
    is_tree = TREE.fullmatch(entry.name) and pathlib.Path(entry.path, "runtime.pyc").exists()
    return bool(is_tree or UNFINISHED.fullmatch(entry.name))
