"""The base model in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from whetstone.engine import Weights


@dataclass
class BaseModel:
    """The engine's weights, TRL's model and its tokenizer.

    An instance takes one adapter. Processes forked after `read` have an instance each, and share its memory because
    nothing writes to the weights.
    """

    weights: Weights
    model: LlamaForCausalLM
    tokenizer: PreTrainedTokenizerFast

    @classmethod
    def read(cls, directory: Path) -> BaseModel:
        """Loads a checkpoint directory, onto the GPU where there is one. Raises ModelError when it cannot."""
        device = "cuda" if torch.cuda.is_available() else "cpu"
        weights = Weights.read(directory, device)
        model = LlamaForCausalLM.from_pretrained(directory, dtype=torch.float32)
        return cls(weights, model, AutoTokenizer.from_pretrained(directory))
