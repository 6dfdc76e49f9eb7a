"""Tier: unit. Merging adapters."""

from __future__ import annotations

from pathlib import Path

import torch
from whetstone.engine import Weights, merge_adapters, read_adapter


def test_a_merge_is_the_weighted_sum_of_the_updates(tiny_dir: Path, adapter_dirs: list[Path]) -> None:
    shape = Weights.read(tiny_dir, "cpu").shape
    one, two = (read_adapter(path, shape) for path in adapter_dirs[:2])
    merged = merge_adapters([(one, 0.25), (two, 0.75)])
    merged.check(shape, "merge")
    for key, (a, b) in merged.parts.items():
        updates = [adapter.scale * adapter.parts[key][1] @ adapter.parts[key][0] for adapter in (one, two)]
        torch.testing.assert_close(merged.scale * b @ a, 0.25 * updates[0] + 0.75 * updates[1])
