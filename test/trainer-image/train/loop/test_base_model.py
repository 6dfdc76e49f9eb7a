"""Tier: unit. Checkpoints that the trainer refuses, by their config.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from whetstone.engine import ModelError
from whetstone.train.loop.base_model import check_base


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            {"model_type": "qwen3", "quantization_config": {"quant_method": "fp8"}},
            r"quantised \(fp8\).*before quantisat",
        ),
        ({"model_type": "llama", "quantization_config": {"quant_method": "awq"}}, r"quantised \(awq\)"),
        ({"model_type": "own", "auto_map": {"AutoModelForCausalLM": "own.Model"}}, "type 'own'; it brings Python code"),
        ({"model_type": "own"}, "no model of type 'own'. Give a checkpoint"),
        ([], "is not a JSON object"),
    ],
)
def test_refused(config: object, words: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=words):
        check_base(tmp_path)


def test_taken(tmp_path: Path) -> None:
    for kind in ("llama", "qwen2", "qwen3", "qwen3_moe", "mistral", "gemma3_text", "gpt_oss", "lfm2", "smollm3"):
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
        check_base(tmp_path)
