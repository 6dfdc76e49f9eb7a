"""Whether the trainer's place has the packages, the base model and the jail that a training needs."""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from pathlib import Path

from whetstone.envs.errors import SandboxError
from whetstone.envs.jail import load_profile
from whetstone.envs.jail_probe_client import require_jail

from ..job import TrainingJob
from .request import ModelFile

PACKAGES = ("torch", "transformers", "trl", "peft")


class Unfit(Exception):
    """The trainer's place lacks something that every training needs."""


def package_versions() -> dict[str, str]:
    """Versions of the libraries that a training imports, without importing them. Raises Unfit for a missing one."""
    try:
        return {name: metadata.version(name) for name in PACKAGES}
    except metadata.PackageNotFoundError as error:
        raise Unfit(
            f"the Python package {error.name} is not installed here; use a trainer image that was built from "
            "trainer-image/Dockerfile"
        ) from None


def require_model(directory: Path, files: list[ModelFile]) -> None:
    """Raises Unfit unless the base model is the same as at the beginning of the run, according to names, sizes and
    hashes.
    """
    try:
        json.loads((directory / "config.json").read_text())
    except OSError as error:
        raise Unfit(
            f"the base model {directory} (model.path) cannot be read here: {error.strerror} ({error.filename}); let the"
            " trainer see it at this very path, in a cluster by training.kubernetes.volumes"
        ) from None
    except ValueError as error:
        raise Unfit(f"config.json of the base model {directory} (model.path) is not JSON: {error}") from None
    for file in files:
        _require_file(directory, file)


def _require_file(directory: Path, file: ModelFile) -> None:
    path = directory / file.name
    where = f"{path} is not the file that the run began with"
    try:
        size = path.stat().st_size
        if size != file.bytes:
            raise Unfit(f"{where}: it has {size} bytes here and {file.bytes} bytes where the worker reads it")
        if file.sha256 is None:
            with path.open("rb") as opened:
                opened.read(1)
        elif hashlib.sha256(path.read_bytes()).hexdigest() != file.sha256:
            raise Unfit(f"{where}: its content differs from what the worker reads there")
    except OSError as error:
        raise Unfit(f"{where}: it cannot be read here: {error.strerror}") from None


def require_isolation(job: TrainingJob) -> None:
    """Raises Unfit unless every layer of the jail works, if the job's environments run in the jail."""
    if job.isolation != "jail":
        return
    try:
        require_jail(load_profile(job.jailProfile or None))
    except SandboxError as error:
        raise Unfit(error.message) from None
