"""The job files of one command: read, checked against each other, and their output directories opened."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ..job import JobError, TrainingJob, check_inputs, parse_job
from ..job.exit_codes import BAD_JOB, DISK_FULL
from ..output.disk import DiskFull
from ..output.failure import end_cancelled, end_with_failure
from ..output.reports import report_url
from ..output.store import OutputStore, write_failure

# The jobs of one command have one base model, one kind of jail and one number of threads.
SHARED_FIELDS = ("baseModel", "threads", "isolation", "jailProfile", "sampler", "samplerUrl", "maxModelLength")


def open_jobs(paths: list[Path]) -> tuple[list[OutputStore], list[int]]:
    """The output directories of the jobs that must be trained, and the exit codes of the other jobs.

    `paths` are job files. A job that is bad (64), cancelled (143) or done (0) does not stop the others. Raises JobError
    if the jobs do not match or `WHET_REPORTS` is malformed, and Locked if another trainer uses one of the directories.
    """
    jobs, codes = [], []
    for path in paths:
        try:
            jobs.append(_parse(path.read_text()))
        except OSError as error:
            message = (
                f"the job file {path} cannot be read here: {error.strerror}; the trainer must see the store where the"
                " worker has it, in a cluster by training.kubernetes.store"
            )
            codes.append(end_with_failure(BAD_JOB, message))
        except (JobError, UnicodeDecodeError) as error:
            codes.append(end_with_failure(BAD_JOB, error if len(paths) == 1 else f"{path}: {error}"))
    _agree(jobs)
    try:
        for job in jobs:
            report_url(job.outputDir, os.environ)
    except ValueError as error:
        raise JobError(f"WHET_REPORTS cannot be used: {error}") from None
    opened = []
    for job in jobs:
        try:
            opened.append(OutputStore(job))
        except DiskFull as error:
            codes.append(end_with_failure(DISK_FULL, error.strerror))
        except (JobError, OSError) as error:
            codes.append(end_with_failure(BAD_JOB, error))
    ready = []
    for store in opened:
        store.clear_failure()
        code = _code_before_start(store)
        if code is None:
            ready.append(store)
        else:
            store.release()
            codes.append(code)
    return ready, codes


def _code_before_start(store: OutputStore) -> int | None:
    """Exit code of a job that is done, cancelled or cannot run; None if it must be trained."""
    try:
        check_inputs(store.job)
    except JobError as error:
        return end_with_failure(BAD_JOB, error, store)
    if store.done:
        return 0
    return end_cancelled(store) if store.cancelled else None


def _parse(text: str) -> TrainingJob:
    """Parses a job. A JobError is also written to the job's output directory, unless another job uses it."""
    try:
        return parse_job(text)
    except JobError as error:
        try:
            root = Path(json.loads(text)["outputDir"])
            if root.is_absolute() and not (root / "job.sha256").exists():
                root.mkdir(parents=True, exist_ok=True)
                write_failure(root, BAD_JOB, str(error))
        except (ValueError, KeyError, TypeError, OSError):
            # The text names no output directory, so there are only the message on stderr and the exit code.
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
