"""Sampler and trainer round differently: TRL's importance-sampling correction, and the size of the difference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .adapter_trainer import AdapterTrainer


def correct_for_sampler(trainer: AdapterTrainer) -> None:
    """Makes TRL correct for a sampler whose log-probabilities are not the trainer's.

    TRL does so only with its own vLLM. This function makes it assume one, but after its constructor, which would
    connect to it. If a rollout's probability differs by more than `vllm_importance_sampling_clip_max` (3 times), it is
    left out of the loss; the others are weighted with the ratio.
    """
    trainer.use_vllm = True
    # TRL would send its client the weights before each iteration; `publish` has already done so.
    trainer.vllm_generation = SimpleNamespace(sync_weights=lambda: None)
    trainer._last_loaded_step = -1


def sampler_mismatch(trainer: AdapterTrainer, inputs: dict) -> dict[str, float] | None:
    """The difference of the last batch's log-probabilities, in nats a token; None without a correction.

    `clipped` is the share of rollouts that the correction left out. Rollouts with hints count in none of the three.
    """
    if "importance_sampling_ratio" not in inputs:
        return None
    metrics = trainer._metrics["train"]
    return {
        "mean": metrics["sampling/sampling_logp_difference/mean"][-1],
        "max": metrics["sampling/sampling_logp_difference/max"][-1],
        "clipped": (inputs["importance_sampling_ratio"] == 0).float().mean().item(),
    }
