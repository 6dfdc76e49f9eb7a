"""The output directory: lock, checkpoints, progress lines, manifest. Whatever is visible in it is whole."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
from pathlib import Path

from .job import JobError, TrainingJob

KEPT_CHECKPOINTS = 2
FAILURE = "failure.json"
MODEL_FILES = (".json", ".safetensors", ".jinja", ".txt", ".model")


class Locked(Exception):
    """Another trainer works on the same output directory."""


class Fenced(Locked):
    """Another trainer has taken the output directory over: what this one would still write must not be seen."""


def tree_sha256(directory: Path) -> str:
    """Hash of a model's or adapter's files: sha256 over `name NUL sha256-hex LF` of each, sorted by name.

    Counts configuration, tokenizer and weights (by suffix), not what else lies in the directory.
    """
    total = hashlib.sha256()
    for path in sorted(directory.rglob("*"), key=lambda p: p.relative_to(directory).as_posix()):
        if path.is_file() and path.suffix in MODEL_FILES:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{path.relative_to(directory).as_posix()}\0{digest}\n".encode())
    return total.hexdigest()


def _replace(path: Path, text: str) -> None:
    """Writes a file beside its place, flushes it to disk, renames it."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def write_failure(root: Path, code: int, message: str) -> None:
    """Writes `failure.json`: the exit code of a trainer that had been alone, and the sentence that goes with it."""
    _replace(root / FAILURE, json.dumps({"code": code, "message": message}) + "\n")


class OutputStore:
    """Files of one job. Raises Locked when another process holds the directory, JobError when it holds another job.

    The lock keeps a second trainer out where the file system knows locks. A pod on a node that has fallen silent may
    live on where it does not: whoever starts last writes its token into `fence`, and nothing is published any more by
    a trainer that finds another's there. The token is WHET_FENCE, else a random one.
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
        """Lets go of the lock before the process ends: this job has left, and may be started elsewhere."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _must_hold_fence(self) -> None:
        if self._fence.read_text() != self._token:
            raise Fenced(f"another trainer has taken {self.root} over")

    @property
    def done(self) -> bool:
        """True when the manifest is there."""
        return self._manifest.exists()

    @property
    def cancelled(self) -> bool:
        """True when somebody has put a file `cancel` here: nobody waits for this adapter any more."""
        return (self.root / "cancel").exists()

    def clear_failure(self) -> None:
        """Forgets how an earlier attempt ended."""
        (self.root / FAILURE).unlink(missing_ok=True)

    def save_failure(self, code: int, message: str) -> None:
        """Says why there will be no manifest; raises Fenced when another trainer has the directory."""
        self._must_hold_fence()
        write_failure(self.root, code, message)

    def latest(self) -> tuple[Path, int] | None:
        """The newest checkpoint and the iterations it holds."""
        found = sorted(self._checkpoints.glob("iteration-*"))
        return (found[-1], int(found[-1].name.split("-")[1])) if found else None

    def save_checkpoint(self, iteration: int, write) -> None:
        """Calls `write(directory)` for a new checkpoint, makes it visible at once, and removes all but the last two."""
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
        """Drops the progress lines after an iteration (they will be made again) and returns those that stay."""
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
        """Appends one line to progress.jsonl."""
        self._must_hold_fence()
        with self._progress.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def save_adapter(self, write) -> str:
        """Calls `write(directory)` for the final adapter, puts it in place, returns its hash."""
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
        """Writes the manifest: from here on the job is done."""
        self._must_hold_fence()
        _replace(self._manifest, json.dumps(manifest, indent=2) + "\n")


def _sync(directory: Path) -> None:
    for path in directory.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
