"""Tier: unit. Merging adapters."""

from __future__ import annotations

import json
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


def with_options(adapter: Path, copy: Path, **options: object) -> Path:
    """A copy of an adapter whose adapter_config.json has further options."""
    shutil.copytree(adapter, copy)
    config = json.loads((copy / "adapter_config.json").read_text())
    (copy / "adapter_config.json").write_text(json.dumps(config | options))
    return copy


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("use_qalora", True),
        ("alora_invocation_tokens", [5, 6]),
        ("arrow_config", {"top_k": 3}),
        ("use_bdlora", {"nblocks": 2}),
        ("fan_in_fan_out", True),
        ("layer_replication", [[0, 1], [0, 2]]),
        ("velora_config", {"num_groups": 64}),
        ("monteclora_config", {"n_samples": 2}),
        ("kasa_config", {"beta": 1e-4}),
        ("megatron_config", {"tensor_model_parallel_size": 2}),
        ("target_parameters", ["experts.gate_up_proj"]),
        ("trainable_token_indices", [0]),
        ("modules_to_save", ["lm_head"]),
        ("bias", "lora_only"),
        ("lora_bias", True),
        ("use_dora", True),
        ("rank_pattern", {"q_proj": 3}),
        ("alpha_pattern", {"q_proj": [1]}),
        ("init_lora_weights", "pissa_niter_4"),
        ("init_lora_weights", "loftq"),
        ("init_lora_weights", "mica"),
        ("use_rslora", "false"),
        ("an_option_of_tomorrow", True),
        ("an_option_of_tomorrow", 0),
        ("an_option_of_tomorrow", "fast"),
    ],
)
def test_an_adapter_with_an_option_that_is_not_understood_is_refused(
    tiny_dir: Path, adapter_dirs: list[Path], tmp_path: Path, option: str, value: object
) -> None:
    copy = with_options(adapter_dirs[0], tmp_path / "adapter", **{option: value})
    with pytest.raises(ModelError, match=f"adapter_config.json: .*{option}.* is "):
        read_adapter(copy, Weights.read(tiny_dir).shape)


def test_options_that_change_nothing_are_taken(tiny_dir: Path, adapter_dirs: list[Path], tmp_path: Path) -> None:
    shape = Weights.read(tiny_dir).shape
    config = json.loads((adapter_dirs[0] / "adapter_config.json").read_text())
    off = dict.fromkeys(("use_qalora", "use_dora", "fan_in_fan_out", "lora_bias", "an_option_of_tomorrow"), False)
    off |= dict.fromkeys(("alora_invocation_tokens", "arrow_config", "layer_replication", "another_one"), None)
    off |= {"modules_to_save": [], "bias": "none", "alpha_pattern": {}, "rank_pattern": {"q_proj": config["r"]}}
    off |= {"init_lora_weights": "gaussian", "lora_dropout": 0.1, "qalora_group_size": 32, "eva_config": {"rho": 2.0}}
    off |= {"target_modules": "all-linear", "layers_to_transform": [0], "inference_mode": False, "revision": "main"}
    plain, same = (
        read_adapter(path, shape)
        for path in (adapter_dirs[0], with_options(adapter_dirs[0], tmp_path / "adapter", **off))
    )
    assert same.scale == plain.scale
    assert all(torch.equal(a, b) for key in plain.parts for a, b in zip(plain.parts[key], same.parts[key], strict=True))
