"""Copies of a model's adapter."""

from __future__ import annotations

import torch
from peft import PeftModel, get_peft_model_state_dict


def adapter_of(model: PeftModel) -> dict[str, torch.Tensor]:
    """A copy of the model's adapter: its weights by name."""
    return {name: weight.detach().to("cpu", copy=True) for name, weight in get_peft_model_state_dict(model).items()}
