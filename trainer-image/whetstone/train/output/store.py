"""The output directory: lock, checkpoints, progress lines, manifest.

Files appear under their final names only when they are complete, so that a kill at any moment leaves nothing half
written.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from pathlib import Path

from ..job import JobError, TrainingJob
from .tree_hash import tree_sha256

# The last checkpoint, and the one before in case the last cannot be read.
KEPT_CHECKPOINTS = 2
FAILURE = "failure.json"


class Locked(Exception):
    """Another trainer works on the same output directory."""


class Fenced(Locked):
    """Another trainer has taken over the output directory, so nothing that this one writes may be seen any more."""


def _replace(path: Path, text: str) -> None:
    """Writes a file under a temporary name, flushes it to disk and renames it."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def write_failure(root: Path, code: int, message: str) -> None:
    """Writes failure.json: the exit code that a trainer of this one job would have, and the reason as a sentence."""
    _replace(root / FAILURE, json.dumps({"code": code, "message": message}) + "\n")


class OutputStore:
    """The output directory of one job, locked by this process.

    The lock keeps a second trainer out, where the file system has locks. Where it has none, the pod of a node that fell
    silent may still be at work. So the trainer that starts last writes its token into the file `fence`, and a trainer
    that finds another's token there publishes nothing more. The token is WHET_FENCE, or a random one.

    Raises Locked when another process holds the directory, JobError when the directory belongs to another job.
    """

    def __init__(self, job: TrainingJob) -> None:
        self.root = Path(job.outputDir)
        self.adapter = self.root / "adapter"
        self._checkpoints = self.root / "checkpoints"
        self._progress = self.root / "progress.jsonl"
        self._manifest = self.root / "manifest.json"
        self.root.mkdir(parents=True, exist_ok=True)
        self._lock = (self.root / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(f"another trainer is working in {self.root}") from None
        self._fence = self.root / "fence"
        self._token = os.environ.get("WHET_FENCE") or secrets.token_hex(16)
        mark = self.root / "job.sha256"
        if mark.exists() and mark.read_text() != job.sha256:
            raise JobError(f"{self.root} holds another job; give this one a directory of its own")
        _replace(self._fence, self._token)
        _replace(mark, job.sha256)
        self._checkpoints.mkdir(exist_ok=True)
        for leftover in (*self._checkpoints.glob(".*"), *self.root.glob(".adapter*")):
            shutil.rmtree(leftover)

    def release(self) -> None:
        """Gives up the lock before the process ends, so that this job may be started elsewhere."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _must_hold_fence(self) -> None:
        if self._fence.read_text() != self._token:
            raise Fenced(f"another trainer has taken over {self.root}")

    @property
    def done(self) -> bool:
        """True when the manifest is there."""
        return self._manifest.exists()

    @property
    def cancelled(self) -> bool:
        """True when a file `cancel` is there, by which the worker says that nobody waits for this adapter any more."""
        return (self.root / "cancel").exists()

    def clear_failure(self) -> None:
        """Removes the failure.json of an earlier attempt."""
        (self.root / FAILURE).unlink(missing_ok=True)

    def save_failure(self, code: int, message: str) -> None:
        """Writes failure.json. Raises Fenced when another trainer has the directory."""
        self._must_hold_fence()
        write_failure(self.root, code, message)

    def latest(self) -> tuple[Path, int] | None:
        """The newest checkpoint's directory and its iteration; None when there is no checkpoint."""
        found = sorted(self._checkpoints.glob("iteration-*"))
        return (found[-1], int(found[-1].name.split("-")[1])) if found else None

    def save_checkpoint(self, iteration: int, write) -> None:
        """Makes a checkpoint with `write(directory)` and removes all but the last two. Raises Fenced."""
        final = self._checkpoints / f"iteration-{iteration:04d}"
        if not final.exists():
            temporary = self._checkpoints / f".{final.name}"
            temporary.mkdir()
            write(temporary)
            _sync(temporary)
            self._must_hold_fence()
            temporary.rename(final)
        for old in sorted(self._checkpoints.glob("iteration-*"))[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(old)

    def rewind(self, iteration: int) -> list[dict]:
        """Drops the progress lines after an iteration, which will be made again, and returns the lines that stay."""
        lines = []
        if self._progress.exists():
            for text in self._progress.read_text().splitlines():
                try:
                    line = json.loads(text)
                except ValueError:
                    break
                if line["iteration"] > iteration:
                    break
                lines.append(line)
        _replace(self._progress, "".join(json.dumps(line) + "\n" for line in lines))
        return lines

    def add_progress(self, line: dict) -> None:
        """Appends one line to progress.jsonl. Raises Fenced."""
        self._must_hold_fence()
        with self._progress.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def save_adapter(self, write) -> str:
        """Makes the final adapter with `write(directory)` and returns its hash. Raises Fenced."""
        temporary = self.root / ".adapter"
        temporary.mkdir()
        write(temporary)
        (temporary / "README.md").unlink(missing_ok=True)
        _sync(temporary)
        self._must_hold_fence()
        if self.adapter.exists():
            shutil.rmtree(self.adapter)
        temporary.rename(self.adapter)
        return tree_sha256(self.adapter)

    def save_manifest(self, manifest: dict) -> None:
        """Writes the manifest. From here on the job is done. Raises Fenced."""
        self._must_hold_fence()
        _replace(self._manifest, json.dumps(manifest, indent=2) + "\n")


def _sync(directory: Path) -> None:
    """Flushes every file of a directory to disk."""
    for path in directory.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
