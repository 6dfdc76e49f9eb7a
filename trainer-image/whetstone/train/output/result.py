"""The result of a job that is done: the adapter, and the manifest as the proof."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from whetstone import __version__
from whetstone.tree_hash import tree_sha256

from ..job import TrainingJob
from .nothing_learned import partial_reward, why_nothing_learned
from .store import OutputStore

if TYPE_CHECKING:
    from peft import PeftModel

    from ..watch.watch import Watch

# Fields of each progress line that the manifest keeps. Not every line has the last one.
CURVE = ("iteration", "reward", "kl", "loss", "samplerMismatch")

# A model in the cache of the Hugging Face hub.
SNAPSHOT = re.compile(r"/models--(?P<repository>[^/]+)/snapshots/(?P<revision>[^/]+)/?$")


def save_result(
    store: OutputStore,
    model: PeftModel,
    lines: list[dict],
    startup: float,
    watch: Watch,
    warm_start: dict,
) -> None:
    """Saves the adapter of a PEFT model and, at the very end, the manifest.

    `lines` are all progress lines of the job; `startup` is the number of seconds before the first iteration. `watch`
    has chosen the adapter, and the model already has it. `warm_start` has the manifest's fields about the warm start.
    Raises Fenced and DiskFull.
    """
    job = store.job
    adapter_sha256 = store.save_adapter(lambda directory: write_adapter(job, model, directory))
    elapsed = lines[-1]["secondsElapsed"]
    # Without a kept checkpoint, the figures are about the whole training.
    kept = watch.kept or None
    nothing = why_nothing_learned(lines, job.algorithm, model, kept, "beginsFrom" in warm_start)
    partial = None if watch.gained else partial_reward(lines, job.algorithm, len(job.environments), kept)
    store.save_manifest(
        {
            "jobId": job.jobId,
            "jobSha256": job.sha256,
            "baseModelSha256": tree_sha256(Path(job.baseModel)),
            "trainerVersion": __version__,
            "adapterSha256": adapter_sha256,
            "adapterDir": "adapter",
            "iterations": len(lines),
            "rollouts": sum(_rollouts(line, job) for line in lines),
            "seconds": {
                "total": round(elapsed + startup, 3),
                "generation": round(sum(line["secondsGeneration"] for line in lines), 3),
                "update": round(sum(line["secondsUpdate"] for line in lines), 3),
                "startup": round(startup, 3),
            },
            "completionTokens": sum(line["completionTokens"] for line in lines),
            "curve": [{key: line[key] for key in CURVE if key in line} for line in lines],
            "finalReward": sum(line["reward"] for line in lines[:kept][-5:]) / len(lines[:kept][-5:]),
            **watch.in_manifest,
            **({"nothingLearned": nothing} if nothing else {}),
            **({"partialReward": partial} if partial else {}),
            **warm_start,
            "environmentSha256": [environment.sha256 for environment in job.environments],
        }
    )


def _rollouts(line: dict, job: TrainingJob) -> int:
    """Number of rollouts of an iteration, including those of replaced tasks, without its probe."""
    algorithm = job.algorithm
    return algorithm.rollouts + line.get("resampledGroups", 0) * algorithm.rolloutsPerGroup


def write_adapter(job: TrainingJob, model: PeftModel, directory: Path) -> None:
    """Saves in PEFT's format, with the same bytes for the same adapter: without paths of this machine, lists sorted."""
    model.save_pretrained(str(directory))
    path = directory / "adapter_config.json"
    config = json.loads(path.read_text())
    config["base_model_name_or_path"], revision = repository(Path(job.baseModel))
    if revision:
        config["revision"] = revision
    config["target_modules"] = sorted(config["target_modules"])
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def repository(model: Path) -> tuple[str, str | None]:
    """Name and revision of the repository of a model in the hub's cache; else its folder's name and None.

    With these fields, PEFT's auto classes find the base model by themselves.
    """
    found = SNAPSHOT.search(model.as_posix())
    return (found["repository"].replace("--", "/"), found["revision"]) if found else (model.name, None)
