"""The request for a trial: a job file with one more field, `trial` (docs/reference/protocols.md, section 6).

A trainer that is too old for trials refuses that field and says which versions of worker and image do not match.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..job import JobError, TrainingJob, parse_job

FIELD = "trial"


@dataclass(frozen=True)
class ModelFile:
    """A file of the base model as it was when the run began. `sha256` is None if reading the file would take long."""

    name: str
    bytes: int
    sha256: str | None


@dataclass(frozen=True)
class Trial:
    """The job whose options, directory, model and jail are tested, and the further requirements.

    `gpus` is the number of devices that torch must see; with 0, torch is not loaded. `modelFiles` is empty if the
    worker cannot see the base model.
    """

    job: TrainingJob
    gpus: int
    modelFiles: list[ModelFile]


def read_trial(path: Path) -> Trial | None:
    """The trial of a job file; None if the file contains no trial or cannot be read. Raises JobError."""
    try:
        raw = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(raw, dict) or FIELD not in raw:
        return None
    asked = raw.pop(FIELD)
    job = parse_job(json.dumps(raw))
    try:
        files = [ModelFile(str(file["name"]), int(file["bytes"]), file["sha256"]) for file in asked["modelFiles"]]
        return Trial(job, int(asked["gpus"]), files)
    except (KeyError, TypeError, ValueError) as error:
        raise JobError(f"{FIELD} is not what this trainer knows as a trial: {error!r}") from None
