"""The checkpoints of a job: directories with the hashes of their files, which are checked before use."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from .disk import disk_full_named

# The last checkpoint, and the previous one in case the last cannot be read.
KEPT = 2
HASHES = "files.sha256.json"


class Checkpoints:
    """The folder `checkpoints` of an output directory. `warn` takes a sentence for the owner of the job."""

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._folder, self._warn = folder, warn
        folder.mkdir(exist_ok=True)
        for leftover in folder.glob(".*"):
            _remove(leftover)

    def latest(self, lines: int) -> tuple[Path, int] | None:
        """The newest complete checkpoint and its iteration; None if there is none.

        The iteration is at most `lines`, since later ones have no progress line. A damaged checkpoint is reported and
        set aside, and the previous one is tried.
        """
        for directory in reversed(self._all()):
            iteration = _iteration(directory)
            damage = _damage(directory)
            if damage is None and iteration <= lines:
                return directory, iteration
            why = damage or f"progress.jsonl has only {lines} whole lines"
            self._warn(f"checkpoint {directory.name} cannot be used: {why}; the one before it is tried")
            directory.rename(self._folder / f".broken-{directory.name}")
        return None

    def save(self, iteration: int, write: Callable[[Path], None], check: Callable[[], None]) -> None:
        """Makes a checkpoint with `write(directory)`. `check` is called just before it appears; it may raise.

        All but the last two are removed, once the newest has been read back completely. Raises DiskFull; then the
        others stay.
        """
        final = self._folder / f"iteration-{iteration:04d}"
        if not final.exists():
            temporary = self._folder / f".{final.name}"
            shutil.rmtree(temporary, ignore_errors=True)
            try:
                with disk_full_named(self._folder, f"checkpoint {final.name}"):
                    temporary.mkdir()
                    write(temporary)
                    (temporary / HASHES).write_text(json.dumps(_hashes(temporary)))
                    sync(temporary)
                check()
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
            temporary.rename(final)
            sync_folder(self._folder)
        damage = _damage(final)
        if damage is not None:
            self._warn(f"checkpoint {final.name} was written but cannot be read back: {damage}; older ones are kept")
            return
        for old in self._all()[:-KEPT]:
            _remove(old)

    def _all(self) -> list[Path]:
        return sorted(self._folder.glob("iteration-*"), key=_iteration)


def _remove(directory: Path) -> None:
    """Removes a directory, as far as that is possible now.

    NFS keeps a file that a process still has open, under another name, until it is closed. Later calls remove the rest.
    """
    shutil.rmtree(directory, ignore_errors=True)


def _iteration(directory: Path) -> int:
    return int(directory.name.split("-")[1])


def _hashes(directory: Path) -> dict[str, str]:
    files = (path for path in sorted(directory.rglob("*")) if path.is_file() and path.name != HASHES)
    return {path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _damage(directory: Path) -> str | None:
    """The fault of a checkpoint, in a few words; None if it is complete. Raises OSError if it cannot be read."""
    try:
        expected = json.loads((directory / HASHES).read_text())
    except FileNotFoundError:
        return f"{HASHES} is missing"
    except ValueError:
        return f"{HASHES} is no JSON"
    found = _hashes(directory)
    for name, digest in expected.items():
        if name not in found:
            return f"{name} is missing"
        if found[name] != digest:
            return f"{name} has changed since it was written"
    return None


def sync(directory: Path) -> None:
    """Flushes every file of a directory to disk."""
    for path in directory.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flushes the names in a folder to disk, so that a rename survives a power cut.

    Some network file systems cannot do that for a folder, and say so.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise
    finally:
        os.close(descriptor)
