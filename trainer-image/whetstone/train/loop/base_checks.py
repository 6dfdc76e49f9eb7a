"""Checkpoints that the trainer does not take, each with a sentence that says what to give instead."""

from __future__ import annotations

import json
from pathlib import Path

from whetstone.engine import ModelError


def check_base(directory: Path) -> None:
    """Raises ModelError for a checkpoint with code of its own, or with quantised weights. Reads config.json only."""
    try:
        config = json.loads((directory / "config.json").read_text())
    except (OSError, ValueError) as error:
        raise ModelError(f"{directory / 'config.json'} cannot be read: {error}") from None
    if not isinstance(config, dict):
        raise ModelError(f"{directory / 'config.json'} is not a JSON object")
    from transformers import CONFIG_MAPPING

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
