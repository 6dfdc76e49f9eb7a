"""What a job file of a worker with another version is answered with."""

from __future__ import annotations

from whetstone import __version__

from .errors import JobError, UnknownField
from .job_file import TrainingJob, parse_job


def parse_job_of(text: str, worker_version: str | None) -> TrainingJob:
    """Parses a job that a worker of this version wrote. Raises JobError, for an unknown field with both versions."""
    try:
        return parse_job(text)
    except UnknownField as error:
        raise JobError(f"{error}. {_versions(worker_version)}") from None


def _versions(worker: str | None) -> str:
    """Both versions, and what to do when the job file has a field that this trainer does not know."""
    if worker == __version__:
        return (
            f"Worker and trainer both have version {__version__} but are of different builds: build the trainer image "
            "from the sources of the worker"
        )
    return (
        f"The worker ({f'version {worker}' if worker else 'of unknown version'}) is newer than this trainer (version "
        f"{__version__}): set training.kubernetes.image to the trainer image of the worker's version, or use the "
        "worker's own trainer"
    )
