"""The adapter with the best validation result, kept next to the adapter in training."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from peft import PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file, save_file

FOLDER = "best"
WEIGHTS, FIGURES = "adapter.safetensors", "validation.json"


def adapter_of(model: PeftModel) -> dict[str, torch.Tensor]:
    """A copy of the model's adapter: its weights by name."""
    return {name: weight.detach().to("cpu", copy=True) for name, weight in get_peft_model_state_dict(model).items()}


class BestAdapter:
    """`reward` and `iteration` are those of the best validation so far; None before the first one.

    It is part of each checkpoint, so that a resumed training has the same best adapter.
    """

    def __init__(self) -> None:
        self.reward: float | None = None
        self.iteration: int | None = None
        self._weights: dict[str, torch.Tensor] = {}

    def offer(self, reward: float, iteration: int, model: PeftModel) -> None:
        """Takes the model's adapter if its mean reward is above the best; at a tie the earlier one stays."""
        if self.reward is not None and reward <= self.reward:
            return
        self.reward, self.iteration = reward, iteration
        self._weights = adapter_of(model)

    def put_into(self, model: PeftModel) -> None:
        """Gives the model the best adapter. Does nothing before the first validation."""
        if self._weights:
            set_peft_model_state_dict(model, self._weights)

    def save(self, checkpoint: Path) -> None:
        """Adds the best adapter to a checkpoint's directory, if there is one."""
        if self.reward is None:
            return
        folder = checkpoint / FOLDER
        folder.mkdir()
        save_file({name: weight.contiguous() for name, weight in self._weights.items()}, folder / WEIGHTS)
        (folder / FIGURES).write_text(json.dumps({"reward": self.reward, "iteration": self.iteration}) + "\n")

    def load(self, checkpoint: Path) -> None:
        """Reads what `save` wrote; a checkpoint before the first validation has nothing."""
        folder = checkpoint / FOLDER
        if not folder.exists():
            return
        figures = json.loads((folder / FIGURES).read_text())
        self.reward, self.iteration = figures["reward"], figures["iteration"]
        self._weights = load_file(folder / WEIGHTS)
