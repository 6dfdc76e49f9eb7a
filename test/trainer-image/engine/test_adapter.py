"""Tier: unit. Merging adapters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from whetstone.engine import ModelError, Weights, merge_adapters, read_adapter


def test_a_merge_is_the_weighted_sum_of_the_updates(tiny_dir: Path, adapter_dirs: list[Path]) -> None:
    shape = Weights.read(tiny_dir, "cpu").shape
    one, two = (read_adapter(path, shape) for path in adapter_dirs[:2])
    merged = merge_adapters([(one, 0.25), (two, 0.75)])
    merged.check(shape, "merge")
    for key, (a, b) in merged.parts.items():
        updates = [adapter.scale * adapter.parts[key][1] @ adapter.parts[key][0] for adapter in (one, two)]
        torch.testing.assert_close(merged.scale * b @ a, 0.25 * updates[0] + 0.75 * updates[1])


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("adapter_model.safetensors", lambda content: content[: len(content) // 2]),
        ("adapter_model.safetensors", lambda _: b""),
        ("adapter_config.json", lambda _: b'{"peft_type": "LORA"}'),
        ("adapter_config.json", lambda content: content[: len(content) // 2]),
    ],
)
def test_a_damaged_adapter_is_a_model_error_that_names_it(
    tiny_dir: Path, adapter_dirs: list[Path], tmp_path: Path, name: str, damage
) -> None:
    copy = tmp_path / "adapter"
    shutil.copytree(adapter_dirs[0], copy)
    (copy / name).write_bytes(damage((copy / name).read_bytes()))
    with pytest.raises(ModelError, match=str(copy)):
        read_adapter(copy, Weights.read(tiny_dir).shape)
