"""Tier: unit. A warm start that was killed gives the weights of one that was not."""

from __future__ import annotations

import pathlib
import random
import sys

import pytest
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

sys.path.insert(0, "examples/shared/pretrained")

from warm_start import Plan, warm_start  # noqa: E402

PLAN = Plan(batch=2, learning_rate=1e-2, dtype="bfloat16", rank=2, sorted_together=2, save_every=3)
VOCABULARY = 40
UNLEARNED = {38: 39}


class Killed(Exception):
    """Ends a training as a signal would."""


def examples() -> list[tuple[list[int], list[bool]]]:
    rng = random.Random(3)
    return [([rng.randrange(VOCABULARY) for _ in range(n)], [True] * n) for n in (rng.randint(4, 9) for _ in range(20))]


@pytest.fixture
def base(tmp_path: pathlib.Path) -> pathlib.Path:
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    Qwen2ForCausalLM(config).save_pretrained(tmp_path / "base")
    return tmp_path / "base"


def weights(base: pathlib.Path, state: pathlib.Path, report) -> dict[str, torch.Tensor]:
    return warm_start(base, examples(), PLAN, 1, state, UNLEARNED, report)[0].state_dict()


def test_a_killed_warm_start_goes_on_to_the_same_weights(base: pathlib.Path, tmp_path: pathlib.Path) -> None:
    steps: list[tuple[int, int]] = []

    def follow(step: int, _: float, done_before: int) -> None:
        steps.append((step, done_before))

    def kill(step: int, loss: float, done_before: int) -> None:
        follow(step, loss, done_before)
        if step == 6:
            raise Killed

    whole = weights(base, tmp_path / "whole", follow)
    assert steps == [(3, 0), (6, 0), (9, 0), (10, 0)]
    steps.clear()
    with pytest.raises(Killed):
        weights(base, tmp_path / "killed", kill)
    # What a process leaves that is killed while it saves.
    (tmp_path / "killed.1").write_bytes(b"cut")
    continued = weights(base, tmp_path / "killed", follow)
    assert steps == [(3, 0), (6, 0), (9, 6), (10, 6)]
    assert {value.dtype for value in continued.values()} == {torch.float32}
    assert whole.keys() == continued.keys()
    assert all(torch.equal(value, continued[name]) for name, value in whole.items())


def test_a_warm_start_changes_the_layers_and_swaps_embeddings_of_unlearned_tokens(
    base: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    before = Qwen2ForCausalLM.from_pretrained(base, dtype=torch.bfloat16).float().state_dict()
    after = weights(base, tmp_path / "state", lambda *_: None)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        before[name][[38, 39]] = before[name][[39, 38]]
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert changed == {name for name in before if name.endswith("_proj.weight")}
