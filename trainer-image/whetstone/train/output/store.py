"""The output directory: lock, checkpoints, progress lines, manifest.

Files appear under their final names only when they are complete. So a kill at any moment leaves nothing half written.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import json
import os
import secrets
import shutil
import sys
from pathlib import Path

from whetstone.tree_hash import tree_sha256

from ..job import JobError, TrainingJob
from .checkpoints import Checkpoints, sync
from .disk import DiskFull, disk_full_named
from .notices import Notices
from .worker_heartbeat import WorkerHeartbeat

FAILURE = "failure.json"
# While the training waits, this file contains the reason as a sentence.
WAITING = "waiting"
# What a file system without locks says, such as NFS without its lock service, or Lustre.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
DAMAGED_MANIFEST = "manifest.damaged.json"


class Locked(Exception):
    """Another trainer uses the same output directory."""


class Fenced(Locked):
    """Another trainer has taken over the output directory, so this one must not publish anything any more."""


def _replace(path: Path, text: str) -> None:
    """Writes a file under a temporary name, flushes it to disk and renames it. Raises DiskFull."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with disk_full_named(path.parent, path.name), temporary.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except DiskFull:
        temporary.unlink(missing_ok=True)
        raise
    temporary.rename(path)


def _write_all(file: io.RawIOBase, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]


def write_failure(root: Path, code: int, message: str) -> None:
    """Writes failure.json: the exit code that a trainer of this job alone would have, and the reason as a sentence."""
    _replace(root / FAILURE, json.dumps({"code": code, "message": message}) + "\n")


class OutputStore:
    """The output directory of one job, locked by this process.

    If the file system supports locks, the lock keeps a second trainer out. If it does not, the pod of an unreachable
    node may still be running. So each trainer writes its token into the file `fence` when it starts, and publishes
    nothing more once another token is there. The token is WHET_FENCE, or a random one.

    Raises Locked if another process holds the directory, JobError if the directory belongs to another job, and
    DiskFull.
    """

    def __init__(self, job: TrainingJob) -> None:
        self.job = job
        self.root = Path(job.outputDir)
        self.adapter = self.root / "adapter"
        self._progress = self.root / "progress.jsonl"
        self._manifest = self.root / "manifest.json"
        with disk_full_named(self.root.parent, self.root.name):
            self.root.mkdir(parents=True, exist_ok=True)
        self._lock = (self.root / ".lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Locked(f"another trainer is working in {self.root}") from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
        self._fence = self.root / "fence"
        self._token = os.environ.get("WHET_FENCE") or secrets.token_hex(16)
        mark = self.root / "job.sha256"
        if mark.exists() and mark.read_text() != job.sha256:
            raise JobError(f"{self.root} holds another job; give this one a directory of its own")
        _replace(self._fence, self._token)
        _replace(mark, job.sha256)
        self.clear_waiting()
        self.notices = Notices()
        self._unwritten: list[dict] = []
        self._heartbeat = WorkerHeartbeat(self.root)
        self._checkpoints = Checkpoints(
            self.root / "checkpoints", lambda sentence: self.notices.warn(sentence, sentence)
        )
        for leftover in self.root.glob(".adapter*"):
            shutil.rmtree(leftover)

    def release(self) -> None:
        """Releases the lock before the process ends, so that this job may be started elsewhere."""
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    @property
    def session(self) -> str:
        """Eight hex digits, different for each process of the same training."""
        return hashlib.sha256(self._token.encode()).hexdigest()[:8]

    def _must_hold_fence(self) -> None:
        if self._fence.read_text() != self._token:
            raise Fenced(f"another trainer has taken over {self.root}")

    @property
    def done(self) -> bool:
        """True if the manifest exists and matches this adapter.

        A manifest without its adapter is reported and set aside; then the job is trained again from its last
        checkpoint.
        """
        if not self._manifest.exists():
            return False
        try:
            manifest = json.loads(self._manifest.read_text())
            if tree_sha256(self.root / manifest["adapterDir"]) == manifest["adapterSha256"]:
                return True
            damage = f"the files in {manifest['adapterDir']} are not those that it names"
        except (ValueError, KeyError, TypeError):
            damage = "it is no manifest"
        self.notices.warn("manifest", f"manifest.json of {self.root} is set aside, since {damage}; it is trained again")
        self._manifest.rename(self.root / DAMAGED_MANIFEST)
        return False

    @property
    def has_manifest(self) -> bool:
        """True if there is a manifest in any form."""
        return self._manifest.exists()

    @property
    def cancelled(self) -> bool:
        """True if the file `cancel` exists: the worker writes it when nobody waits for this adapter any more."""
        return (self.root / "cancel").exists()

    @property
    def unattended(self) -> bool:
        """True if no worker has touched the file `attended` for a long time."""
        if not self._heartbeat.lapsed:
            return False
        minutes = f"{self._heartbeat.minutes:g} minutes"
        self.notices.warn("attendance", f"no worker has attended to {self.root} for {minutes}, so training ends here")
        return True

    def report_waiting(self, sentence: str | None) -> None:
        """Writes why the training waits to the log and to the file `waiting`. None: the wait is over."""
        if sentence is None:
            self.clear_waiting()
            print(f"whetstone.train: {self.root.name} continues", file=sys.stderr, flush=True)
        else:
            print(f"whetstone.train: {self.root.name} is {sentence}", file=sys.stderr, flush=True)
            with contextlib.suppress(DiskFull):
                _replace(self.root / WAITING, sentence)

    def clear_waiting(self) -> None:
        """Removes the file `waiting`."""
        (self.root / WAITING).unlink(missing_ok=True)

    def clear_failure(self) -> None:
        """Removes the failure.json of an earlier attempt."""
        (self.root / FAILURE).unlink(missing_ok=True)

    def save_failure(self, code: int, message: str) -> None:
        """Writes failure.json. Raises Fenced if another trainer has the directory."""
        self._must_hold_fence()
        write_failure(self.root, code, message)

    def latest(self) -> tuple[Path, int] | None:
        """The newest complete checkpoint's directory and its iteration; None if there is none."""
        return self._checkpoints.latest(len(self._read_progress()))

    def save_checkpoint(self, iteration: int, write) -> None:
        """Makes a checkpoint with `write(directory)` and removes all but the last two. Raises Fenced and DiskFull."""
        self._write_progress()
        if self._unwritten:
            raise DiskFull(errno.ENOSPC, f"the disk of {self.root} is full, so progress.jsonl could not be written")
        self._checkpoints.save(iteration, write, self._must_hold_fence)

    def rewind(self, iteration: int) -> list[dict]:
        """Drops the progress lines after an iteration, because they are repeated, and returns the remaining lines."""
        lines = [line for line in self._read_progress() if line["iteration"] <= iteration]
        _replace(self._progress, "".join(json.dumps(line) + "\n" for line in lines))
        return lines

    def _read_progress(self) -> list[dict]:
        """The lines of progress.jsonl, up to a truncated line."""
        lines: list[dict] = []
        for text in self._progress.read_text().splitlines() if self._progress.exists() else []:
            try:
                line = json.loads(text)
            except ValueError:
                break
            lines.append(line)
        return lines

    def add_progress(self, line: dict) -> None:
        """Appends one line to progress.jsonl; if the disk is full, it is written later. Raises Fenced."""
        self._must_hold_fence()
        self._unwritten.append(line)
        self._write_progress()

    def _write_progress(self) -> None:
        """Writes all lines that are not written yet, or none if the disk is full."""
        if not self._unwritten:
            return
        text = "".join(json.dumps(line) + "\n" for line in self._unwritten)
        with self._progress.open("ab", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            try:
                with disk_full_named(self.root, self._progress.name):
                    _write_all(file, text.encode())
            except DiskFull as error:
                file.truncate(size)
                self.notices.warn("progress", f"{error.strerror}; it is written later")
                return
        self._unwritten.clear()

    def save_adapter(self, write) -> str:
        """Makes the final adapter with `write(directory)` and returns its hash. Raises Fenced and DiskFull."""
        temporary = self.root / ".adapter"
        with disk_full_named(self.root, "the adapter"):
            temporary.mkdir()
            write(temporary)
            (temporary / "README.md").unlink(missing_ok=True)
            sync(temporary)
        self._must_hold_fence()
        if self.adapter.exists():
            shutil.rmtree(self.adapter)
        temporary.rename(self.adapter)
        return tree_sha256(self.adapter)

    def save_manifest(self, manifest: dict) -> None:
        """Writes the manifest. After this the job is done. Raises Fenced and DiskFull."""
        self._must_hold_fence()
        _replace(self._manifest, json.dumps(manifest, indent=2) + "\n")
