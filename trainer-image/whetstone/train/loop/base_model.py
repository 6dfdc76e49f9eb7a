"""The base model in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from whetstone.engine import ModelError, Weights

# A model whose files have at most this size may be in memory twice: 32 million parameters in float32.
SMALL_BYTES = 128 * 2**20


@dataclass
class BaseModel:
    """TRL's model, its tokenizer, and the engine's copy of the weights if the engine can run the checkpoint.

    An instance accepts one adapter. Processes forked after `read` each have an instance, and share its memory, because
    nothing writes to the weights.
    """

    weights: Weights | None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase

    @classmethod
    def read(cls, directory: Path, sampler: str = "engine") -> BaseModel:
        """Loads a checkpoint directory, onto the GPU if there is one.

        The engine's weights are a second copy. A sampler other than the engine does not need it, but small models still
        have it, since it makes their updates faster. Raises ModelError if the directory cannot be read.
        """
        check_base(directory)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        weights = _engine_weights(directory, device, sampler)
        # The engine computes in float32, and the update must agree with it. PEFT keeps LoRA in float32 in both cases.
        half = device == "cuda" and weights is None
        model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.bfloat16 if half else torch.float32)
        return cls(weights, model, AutoTokenizer.from_pretrained(directory))


def check_base(directory: Path) -> None:
    """Raises ModelError for a checkpoint with its own code, or with quantised weights. Reads config.json only."""
    try:
        config = json.loads((directory / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise ModelError(f"{directory / 'config.json'} cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise ModelError(f"{directory / 'config.json'} is not a JSON object")
    kind = config.get("model_type")
    if kind not in CONFIG_MAPPING:
        own = "; it brings Python code of its own, which the trainer does not run" if config.get("auto_map") else ""
        raise ModelError(
            f"{directory}: transformers has no model of type {kind!r}{own}. Give a checkpoint of a family that"
            " transformers has"
        )
    quantised = config.get("quantization_config")
    if quantised:
        method = quantised.get("quant_method", "unknown") if isinstance(quantised, dict) else "unknown"
        raise ModelError(
            f"{directory}: its weights are quantised ({method}), and the trainer takes bfloat16, float16 or float32."
            " Give the checkpoint before quantisation; the adapter then serves on the quantised one as well"
        )


def _engine_weights(directory: Path, device: str, sampler: str) -> Weights | None:
    if sampler == "engine":
        try:
            return Weights.read(directory, device)
        except ModelError as error:
            raise ModelError(
                f"{error}. Set training.sampler to vllm, with training.samplerUrl, or to managed: vLLM samples from"
                " models of other families"
            ) from error
    small = sum(file.stat().st_size for file in directory.glob("*.safetensors")) <= SMALL_BYTES
    if not small:
        return None
    try:
        weights = Weights.read(directory, device)
    except ModelError:
        return None
    return weights if weights.merge else None
