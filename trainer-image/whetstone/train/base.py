"""The base model in memory, read once for however many adapters are trained on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from whetstone.engine import Weights


@dataclass
class Base:
    """The engine's weights, TRL's model and its tokenizer.

    One instance takes one adapter. Processes that are forked after `read` each take their own while the numbers stay
    the same pages of memory, since nothing writes to them.
    """

    weights: Weights
    model: LlamaForCausalLM
    tokenizer: PreTrainedTokenizerFast

    @classmethod
    def read(cls, directory: Path) -> Base:
        """Loads a checkpoint directory onto the GPU, where there is one; raises ModelError when it cannot."""
        device = "cuda" if torch.cuda.is_available() else "cpu"
        weights = Weights.read(directory, device)
        model = LlamaForCausalLM.from_pretrained(directory, dtype=torch.float32)
        return cls(weights, model, AutoTokenizer.from_pretrained(directory))
