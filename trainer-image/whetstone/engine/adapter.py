"""LoRA adapters: read from a PEFT directory or taken from a live PEFT model."""

from __future__ import annotations

import json
import math
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from .config import LlamaShape, ModelError

if TYPE_CHECKING:
    from torch import nn

# Largest configuration file; PEFT writes under 2 KB. Largest header of a weights file: names, shapes and places of
# tensors.
CONFIG_BYTES, HEADER_BYTES = 2**20, 4 * 2**20
# Size of one number: PEFT writes float32 or less.
NUMBER_BYTES = 4
# `training.rank` and vLLM have the same limit.
MOST_RANK = 512
# Options that leave a finished adapter plain LoRA: they name its origin, or how it was made and trained.
HARMLESS = frozenset(
    "peft_type task_type auto_mapping peft_version parent_library base_model_name_or_path revision inference_mode"
    " runtime_config r lora_alpha use_rslora lora_dropout target_modules exclude_modules layers_to_transform"
    " layers_pattern init_lora_weights eva_config corda_config lora_ga_config loftq_config megatron_core"
    " qalora_group_size ensure_weight_tying".split()
)
# Beginnings that leave the base model as it is. Others, such as PiSSA, move a part of its weights into the adapter.
PLAIN_BEGINNINGS = (None, True, False, "gaussian", "eva", "orthogonal")
_KEY = re.compile(
    r"layers\.(\d{1,6})\.(?:self_attn|mlp)\.((?:[qkvo]|gate|up|down)_proj)\.lora_([AB])\.(?:\w+\.)?weight$"
)


@dataclass(frozen=True)
class Adapter:
    """Low-rank updates `scale * B @ A` of the linear layers of one checkpoint.

    `parts[(layer, module)]` is `(A [rank, in], B [out, rank])` in float32; missing modules are unchanged.
    """

    scale: float
    parts: dict[tuple[int, str], tuple[torch.Tensor, torch.Tensor]]

    def check(self, shape: LlamaShape, where: str) -> None:
        """Raises ModelError if a part does not fit the base model."""
        sizes = shape.linear_sizes
        if not math.isfinite(self.scale):
            raise ModelError(f"{where}: lora_alpha divided by the rank is not finite")
        for (layer, module), (a, b) in self.parts.items():
            if a.dim() != 2 or b.dim() != 2 or a.shape[0] != b.shape[1]:
                raise ModelError(f"{where}: layer {layer} {module} has factors A and B of different rank")
            if a.shape[0] < 1:
                raise ModelError(f"{where}: layer {layer} {module} has factors of rank 0")
            if not (torch.isfinite(a).all() and torch.isfinite(b).all()):
                raise ModelError(f"{where}: layer {layer} {module} holds numbers that are not finite: train it again")
            if layer >= shape.layers:
                raise ModelError(f"{where}: adapter has layer {layer}, the base model has {shape.layers} layers")
            if (a.shape[1], b.shape[0]) != sizes[module]:
                raise ModelError(
                    f"{where}: layer {layer} {module} maps {a.shape[1]} -> {b.shape[0]},"
                    f" the base model's maps {sizes[module][0]} -> {sizes[module][1]}"
                )


def _collect(tensors: dict[str, torch.Tensor], scale: float, where: str) -> Adapter:
    halves: dict[tuple[int, str], dict[str, torch.Tensor]] = {}
    for name, tensor in tensors.items():
        match = _KEY.search(name)
        if not match:
            raise ModelError(f"{where}: tensor {name[:200]} is not a LoRA factor of a Llama linear layer")
        halves.setdefault((int(match[1]), match[2]), {})[match[3]] = tensor.float()
    for (layer, module), pair in halves.items():
        if len(pair) != 2:
            raise ModelError(f"{where}: layer {layer} {module} has only one of the factors A and B")
    return Adapter(scale, {key: (pair["A"], pair["B"]) for key, pair in sorted(halves.items())})


def read_adapter(directory: Path, shape: LlamaShape) -> Adapter:
    """Reads a PEFT LoRA directory (`adapter_config.json`, `adapter_model.safetensors`) and checks it against the base.

    Raises ModelError for a missing file, another adapter type, or options beyond plain LoRA, such as DoRA, biases,
    ranks of single layers, and every option that is not known here. An option that is off does not matter.
    """
    config, factors = directory / "adapter_config.json", directory / "adapter_model.safetensors"
    _check_file(config, CONFIG_BYTES, "more than any options of LoRA need")
    raw = _read_options(config)
    rank, alpha = (raw.get("r"), raw.get("lora_alpha")) if isinstance(raw, dict) else (None, None)
    if not isinstance(rank, int) or isinstance(rank, bool) or not 0 < rank <= MOST_RANK:
        raise ModelError(f"{config} does not name the rank r, a whole number of 1 to {MOST_RANK}")
    if not isinstance(alpha, (int, float)) or isinstance(alpha, bool) or not abs(alpha) < 1e9:
        raise ModelError(f"{config} does not name lora_alpha, a finite number")
    if raw.get("peft_type") != "LORA":
        raise ModelError(f"{directory}: peft_type is {repr(raw.get('peft_type'))[:200]}, only 'LORA' is supported")
    _check_options(config, raw, rank, alpha)
    tensors = _read_factors(factors, rank, shape)
    adapter = _collect(tensors, alpha / (math.sqrt(rank) if raw.get("use_rslora") else rank), str(directory))
    adapter.check(shape, str(directory))
    return adapter


def _check_options(config: Path, raw: dict, rank: int, alpha: float) -> None:
    """Raises ModelError for an option under which the factors may mean anything but plain LoRA."""
    for option, value in raw.items():
        off = value in (None, "", [], {}) or value is False or (option == "bias" and value == "none")
        # A pattern may give single layers the rank and alpha that all others have.
        usual = {"rank_pattern": rank, "alpha_pattern": alpha}.get(option)
        same = usual is not None and isinstance(value, dict) and all(one == usual for one in value.values())
        if option not in HARMLESS and not off and not same:
            raise ModelError(
                f"{config}: the option {option[:200]!r} is {repr(value)[:200]}, which this server does not know;"
                " it serves plain LoRA only: train without this option"
            )
    if raw.get("use_rslora") not in (None, True, False):
        raise ModelError(f"{config}: use_rslora is {repr(raw['use_rslora'])[:200]}; it must be true or false")
    if raw.get("init_lora_weights") not in PLAIN_BEGINNINGS:
        raise ModelError(
            f"{config}: init_lora_weights is {repr(raw['init_lora_weights'])[:200]}, which changes the base model;"
            " save the adapter with PEFT's path_initial_model_for_weight_conversion"
        )


def _check_file(path: Path, most: int, reason: str) -> None:
    """Raises ModelError unless the path is a file of at most `most` bytes."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(f"{path} does not exist; give a directory written by PEFT's save_pretrained") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{str(path)[:200]} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    # Reading a FIFO would block for ever.
    if not stat.S_ISREG(found.st_mode):
        raise ModelError(f"{path} is not a file")
    if found.st_size > most:
        raise ModelError(f"{path} has {found.st_size} bytes, {reason}: at most {most}")


def _read_options(config: Path) -> object:
    try:
        with config.open("rb") as file:
            return json.loads(file.read(CONFIG_BYTES))
    except (RecursionError, OSError, ValueError) as error:
        raise ModelError(f"{config.parent}: adapter cannot be read: {error}") from None


def _read_factors(path: Path, rank: int, shape: LlamaShape) -> dict[str, torch.Tensor]:
    """The tensors of a file, if it is not larger than factors of this rank can be; raises ModelError."""
    numbers = shape.layers * sum(columns + rows for columns, rows in shape.linear_sizes.values()) * rank
    _check_file(path, HEADER_BYTES + NUMBER_BYTES * numbers, f"more than factors of rank {rank} need")
    try:
        return load_file(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"{path.parent}: adapter cannot be read: {error}") from None
    except SafetensorError as error:
        raise ModelError(f"{path} is damaged: {error}") from None


def merge_adapters(weighted: list[tuple[Adapter, float]]) -> Adapter:
    """The exact weighted sum of the adapters' updates: factors stacked along the rank (PEFT's `cat`)."""
    keys = sorted({key for adapter, _ in weighted for key in adapter.parts})
    parts = {}
    for key in keys:
        pairs = [(*adapter.parts[key], adapter.scale * weight) for adapter, weight in weighted if key in adapter.parts]
        a = torch.cat([a for a, _, _ in pairs], dim=0)
        b = torch.cat([b * factor for _, b, factor in pairs], dim=1)
        parts[key] = (a, b)
    return Adapter(1.0, parts)


def live_adapter(model: nn.Module, scale: float) -> Adapter:
    """The LoRA factors of a PEFT model: the parameters themselves, if they are float32. `scale` is alpha / rank."""
    tensors = {name: tensor for name, tensor in model.named_parameters() if ".lora_" in name}
    return _collect(tensors, scale, "live model")
