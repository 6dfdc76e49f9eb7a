"""Checkpoint weights, arranged for few and large matrix products.

Query, key and value are one matrix; gate and up are another. The weights of an RMS norm and the constants sqrt(hidden)
and 1 / sqrt(head_dim) are folded into the next matrix, so that a norm only divides by the vector's length. In the
checkpoint, rotary pairs are (i, i + d/2). Here the rows of q and k are permuted so that pairs are adjacent: attention
scores stay the same, and the rotation is one complex product.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file

from .adapter import Adapter
from .config import LlamaShape, ModelError, read_shape

FUSED = {
    "qkv": ("q_proj", "k_proj", "v_proj"),
    "o": ("o_proj",),
    "gate_up": ("gate_proj", "up_proj"),
    "down": ("down_proj",),
}
# Adapters of base models with at most this many parameters are merged. Merging is fast, but each adapter then needs as
# much memory as the linear layers.
MERGE_LIMIT = 32_000_000


@dataclass
class LowRank:
    """One adapter's unmerged update of a fused matrix: columns `start:stop` get `(x @ a) @ b`."""

    start: int
    stop: int
    a: torch.Tensor
    b: torch.Tensor


class FusedLinear:
    """A fused matrix `[in, out]` of the base model, and its variant for each adapter.

    If `Weights.merge` is set, `adapted` has the merged matrix of each adapter, else its low-rank parts.
    """

    def __init__(self, base: torch.Tensor) -> None:
        self.base = base
        self.adapted: dict[str, torch.Tensor | list[LowRank]] = {}


@dataclass
class Layer:
    """The four fused matrices of one block."""

    qkv: FusedLinear
    o: FusedLinear
    gate_up: FusedLinear
    down: FusedLinear


def _read_tensors(directory: Path) -> dict[str, torch.Tensor]:
    index = directory / "model.safetensors.index.json"
    if index.exists():
        files = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    elif (directory / "model.safetensors").exists():
        files = ["model.safetensors"]
    else:
        raise ModelError(f"{directory} has no model.safetensors; save the model with save_pretrained")
    tensors: dict[str, torch.Tensor] = {}
    for name in files:
        try:
            tensors.update(load_file(directory / name))
        except Exception as error:
            raise ModelError(f"{directory / name} cannot be read: {error}") from None
    # Such a model would answer and train without an error, but all its rollouts would earn the same.
    broken = next((name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()), None)
    if broken is not None:
        raise ModelError(f"{broken} in {directory} holds numbers that are not finite: save the model again")
    return tensors


class Weights:
    """All weights of one base model and its adapters on one device, in float32.

    With `merge`, an adapter is stored as merged matrices; otherwise it stays low-rank.
    """

    def __init__(self, shape: LlamaShape, tensors: dict[str, torch.Tensor], device: str) -> None:
        self.shape = shape
        self.device = torch.device(device)
        tensors = {
            name.removeprefix("model."): t.detach().to(self.device, torch.float32) for name, t in tensors.items()
        }
        self.parameters = sum(t.numel() for t in tensors.values())
        self.merge = self.parameters <= MERGE_LIMIT
        self._norms: list[tuple[torch.Tensor, torch.Tensor]] = []
        # Puts the checkpoint's pair (i, i + d/2) at (2i, 2i + 1).
        self._rotary_order = torch.arange(shape.head_dim, device=self.device).view(2, -1).t().flatten()
        try:
            self.embedding = tensors["embed_tokens.weight"].contiguous()
            head = self.embedding if shape.tied else tensors["lm_head.weight"]
            norm = tensors["norm.weight"]
            self.head = (head * norm).t().contiguous() * shape.hidden**0.5
            self.layers = [self._layer(tensors, index) for index in range(shape.layers)]
        except KeyError as error:
            raise ModelError(f"the checkpoint has no tensor {error.args[0]}") from None
        self.adapters: set[str] = set()

    @classmethod
    def read(cls, directory: Path, device: str = "cpu") -> Weights:
        """Loads a checkpoint directory; raises ModelError if it cannot."""
        return cls(read_shape(directory), _read_tensors(directory), device)

    def _layer(self, tensors: dict[str, torch.Tensor], index: int) -> Layer:
        prefix = f"layers.{index}."
        self._norms.append(
            (tensors[prefix + "input_layernorm.weight"], tensors[prefix + "post_attention_layernorm.weight"])
        )
        fused = {}
        for name, modules in FUSED.items():
            block = "self_attn." if name in ("qkv", "o") else "mlp."
            columns = [
                self.input_side(index, m, self.output_side(m, tensors[f"{prefix}{block}{m}.weight"])) for m in modules
            ]
            fused[name] = FusedLinear(torch.cat(columns).t().contiguous())
        return Layer(**fused)

    def output_side(self, module: str, weight: torch.Tensor) -> torch.Tensor:
        """Permutes and scales the output rows of q and k; `weight` is `[out, any]`."""
        if module not in ("q_proj", "k_proj"):
            return weight
        rows = weight.view(-1, self.shape.head_dim, weight.shape[1])[:, self._rotary_order]
        rows = rows.reshape(weight.shape)
        return rows * self.shape.head_dim**-0.5 if module == "q_proj" else rows

    def input_side(self, layer: int, module: str, weight: torch.Tensor) -> torch.Tensor:
        """Folds the preceding norm into the input columns; `weight` is `[any, in]`."""
        if module in ("o_proj", "down_proj"):
            return weight
        norm = self._norms[layer][0 if module in ("q_proj", "k_proj", "v_proj") else 1]
        return weight * (norm * self.shape.hidden**0.5)

    def put_adapter(self, name: str, adapter: Adapter) -> None:
        """Adds or replaces an adapter. If it raises, nothing has changed."""
        built = [
            (linear, self._build(linear, index, modules, adapter))
            for index, layer in enumerate(self.layers)
            for linear, modules in ((getattr(layer, fused_name), modules) for fused_name, modules in FUSED.items())
        ]
        for linear, update in built:
            linear.adapted[name] = update
        self.adapters.add(name)

    def _build(
        self, linear: FusedLinear, index: int, modules: tuple[str, ...], adapter: Adapter
    ) -> torch.Tensor | list[LowRank]:
        """A fused matrix with one adapter: the merged matrix, or the low-rank parts."""
        parts, start = [], 0
        for module, width in zip(modules, self.widths(modules), strict=True):
            if (index, module) in adapter.parts:
                a, b = (t.to(self.device) for t in adapter.parts[(index, module)])
                a = self.input_side(index, module, a).t().contiguous()
                b = (self.output_side(module, b) * adapter.scale).t().contiguous()
                parts.append(LowRank(start, start + width, a, b))
            start += width
        if not self.merge:
            return parts
        merged = linear.base.clone()
        for part in parts:
            merged[:, part.start : part.stop].addmm_(part.a, part.b)
        return merged

    def widths(self, modules: tuple[str, ...]) -> list[int]:
        """Number of output columns of each linear layer in a fused matrix."""
        return [self.shape.linear_sizes[module][1] for module in modules]

    def drop_adapter(self, name: str) -> None:
        """Drops an adapter; unknown names are ignored."""
        self.adapters.discard(name)
        for layer in self.layers:
            for linear in (layer.qkv, layer.o, layer.gate_up, layer.down):
                linear.adapted.pop(name, None)


def rotary_table(shape: LlamaShape, length: int, device: torch.device) -> torch.Tensor:
    """Complex rotations `[length, 1, head_dim / 2]`."""
    exponent = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
    angle = torch.outer(torch.arange(length, dtype=torch.float32), 1.0 / shape.rope_theta**exponent)
    return torch.polar(torch.ones_like(angle), angle).unsqueeze(1).to(device)
