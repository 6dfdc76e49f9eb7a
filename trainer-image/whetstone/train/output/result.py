"""The result of a job that is done: the adapter, and the manifest that says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from whetstone.tree_hash import tree_sha256

from ..job import TrainingJob
from .store import OutputStore

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# Of each progress line the manifest keeps these; the last one is there unless the engine sampled.
CURVE = ("iteration", "reward", "kl", "loss", "samplerMismatch")


def save_result(
    job: TrainingJob, store: OutputStore, model: PreTrainedModel, lines: list[dict], startup: float
) -> None:
    """Saves the adapter of a PEFT model and, last of all, the manifest.

    `lines` are all progress lines of the job, `startup` the seconds before the first iteration. Raises Fenced.
    """
    adapter_sha256 = store.save_adapter(lambda directory: write_adapter(job, model, directory))
    elapsed = lines[-1]["secondsElapsed"]
    store.save_manifest(
        {
            "jobId": job.jobId,
            "jobSha256": job.sha256,
            "baseModelSha256": tree_sha256(Path(job.baseModel)),
            "adapterSha256": adapter_sha256,
            "adapterDir": "adapter",
            "iterations": len(lines),
            "rollouts": len(lines) * job.algorithm.rollouts,
            "seconds": {
                "total": round(elapsed + startup, 3),
                "generation": round(sum(line["secondsGeneration"] for line in lines), 3),
                "update": round(sum(line["secondsUpdate"] for line in lines), 3),
                "startup": round(startup, 3),
            },
            "completionTokens": sum(line["completionTokens"] for line in lines),
            "curve": [{key: line[key] for key in CURVE if key in line} for line in lines],
            "finalReward": sum(line["reward"] for line in lines[-5:]) / len(lines[-5:]),
            "environmentSha256": [environment.sha256 for environment in job.environments],
        }
    )


def write_adapter(job: TrainingJob, model: PreTrainedModel, directory: Path) -> None:
    """Saves in PEFT's format, with the same bytes for the same adapter: no path of this machine, lists in order."""
    model.save_pretrained(str(directory))
    path = directory / "adapter_config.json"
    config = json.loads(path.read_text())
    config["base_model_name_or_path"] = Path(job.baseModel).name
    config["target_modules"] = sorted(config["target_modules"])
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
