"""The job files of one command: read, compared with each other, their output directories opened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .job import JobError, TrainingJob, check_inputs, parse_job
from .outcome import BAD_JOB, cancelled, fail
from .reports import report_address
from .store import OutputStore, write_failure

# One base model, one kind of jail and one way to count cores for all.
SHARED_FIELDS = ("baseModel", "threads", "isolation", "jailProfile")


@dataclass
class Member:
    """One job and its output directory, which this process has locked."""

    job: TrainingJob
    store: OutputStore


def open_members(paths: list[Path], environment: dict[str, str]) -> tuple[list[Member], list[int]]:
    """The members that have to be trained, and the exit codes of those that have ended before they began.

    What concerns one member is its own failure (64, or 143 when it was cancelled) and not in the way of the others.
    Raises JobError when the jobs do not go together or `WHET_REPORTS` is malformed, Locked when another trainer works
    in one of the directories.
    """
    jobs, codes = [], []
    for path in paths:
        try:
            text = path.read_text()
            jobs.append(_parse(text))
        except (JobError, OSError, UnicodeDecodeError) as error:
            codes.append(fail(BAD_JOB, error if len(paths) == 1 else f"{path}: {error}"))
    _agree(jobs)
    try:
        for job in jobs:
            report_address(job.outputDir, environment)
    except ValueError as error:
        raise JobError(f"WHET_REPORTS cannot be used: {error}") from None
    members = []
    for job in jobs:
        try:
            store = OutputStore(job)
        except (JobError, OSError) as error:
            codes.append(fail(BAD_JOB, error))
            continue
        members.append(Member(job, store))
    return _ready(members, codes)


def _ready(members: list[Member], codes: list[int]) -> tuple[list[Member], list[int]]:
    ready = []
    for member in members:
        job, store = member.job, member.store
        store.clear_failure()
        code = _code_before_start(job, store)
        if code is None:
            ready.append(member)
        else:
            store.release()
            codes.append(code)
    return ready, codes


def _code_before_start(job: TrainingJob, store: OutputStore) -> int | None:
    """Exit code of a job for which there is nothing to do, or nothing that can be done; None when it is to be trained."""
    try:
        check_inputs(job)
    except JobError as error:
        return fail(BAD_JOB, error, store)
    if store.done:
        return 0
    return cancelled(store) if store.cancelled else None


def _parse(text: str) -> TrainingJob:
    """Parses a job; a bad one leaves its failure in the directory that it names, when that is free."""
    try:
        return parse_job(text)
    except JobError as error:
        try:
            root = Path(json.loads(text)["outputDir"])
            if root.is_absolute() and not (root / "job.sha256").exists():
                root.mkdir(parents=True, exist_ok=True)
                write_failure(root, BAD_JOB, str(error))
        except (ValueError, KeyError, TypeError, OSError):
            # It does not even say where: stderr and the exit code have to do.
            pass
        raise


def _agree(jobs: list[TrainingJob]) -> None:
    """Raises JobError unless the jobs can share one process."""
    for job in jobs[1:]:
        for name in SHARED_FIELDS:
            first, value = getattr(jobs[0], name), getattr(job, name)
            if value != first:
                raise JobError(
                    f"{name} is {json.dumps(value)} in job {job.jobId} and {json.dumps(first)} in job {jobs[0].jobId};"
                    " it must be the same in all jobs of one command"
                )
    seen: dict[Path, str] = {}
    for job in jobs:
        root = Path(job.outputDir).resolve()
        if root in seen:
            raise JobError(
                f"outputDir is {json.dumps(job.outputDir)} in jobs {seen[root]} and {job.jobId};"
                " it must be a directory of its own in each"
            )
        seen[root] = job.jobId
