"""Tier: unit. Why a training that came to its end learned nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from transformers import LlamaForCausalLM
from whetstone.train.job.options import Algorithm
from whetstone.train.output.nothing_learned import largest_change, partial_reward, why_nothing_learned

LEARNED = {"reward": 0.5, "rewardStd": 0.25, "kl": 0.01, "gradNorm": 0.3, "truncatedShare": 0.0, "taughtShare": 0.5}
NOTHING = {**LEARNED, "gradNorm": 0.0, "taughtShare": 0.0, "kl": 0.0}
SOLVED = {**NOTHING, "reward": 1.0}
SAFE = {**NOTHING, "rewardStd": 0.0}


@pytest.fixture(scope="module")
def adapted(tiny_dir: Path, adapter_dirs: list[Path]) -> PeftModel:
    return PeftModel.from_pretrained(LlamaForCausalLM.from_pretrained(tiny_dir), adapter_dirs[0], is_trainable=True)


@pytest.mark.parametrize(
    ("lines", "options", "kept", "why"),
    [
        ([LEARNED, LEARNED], {}, None, None),
        ([NOTHING, LEARNED], {}, None, None),
        ([LEARNED, NOTHING], {}, None, None),
        ([NOTHING, NOTHING], {}, None, "in 2 iterations all rollouts of a task earned the same .mean 0.50."),
        ([NOTHING, LEARNED], {}, 1, "in 1 iterations up to the kept checkpoint all rollouts of a task"),
        ([{**NOTHING, "truncatedShare": 1.0}] * 2, {"maskTruncated": True}, None, "every rollout was cut"),
        ([{**NOTHING, "truncatedShare": 1.0}] * 2, {}, None, "earned the same"),
        # The reference solutions taught it.
        ([{**NOTHING, "gradNorm": 0.2}] * 2, {"supervisedWeight": 0.5}, None, None),
        ([NOTHING] * 2, {"supervisedWeight": 0.5}, None, "the gradient was 0"),
        # Every rollout was left out by the correction for the sampler.
        ([{**LEARNED, "gradNorm": 0.0}] * 3, {}, None, "in 3 iterations the gradient was 0"),
        # Lines of an older trainer.
        ([{name: value for name, value in LEARNED.items() if name != "taughtShare"}], {}, None, None),
        ([{**LEARNED, "kl": 0.05}, *[{**LEARNED, "kl": 0.01}] * 5], {}, None, None),
        ([{**LEARNED, "kl": 0.0}] * 6, {"klBeta": 0.0}, None, None),
    ],
)
def test_a_reason_is_given_only_where_nothing_was_learned(
    lines: list[dict], options: dict, kept: int | None, why: str | None, adapted: PeftModel
) -> None:
    found = why_nothing_learned(lines, Algorithm(**options), adapted, kept, False)
    assert found is None if why is None else re.search(why, found or "")


@pytest.mark.parametrize(
    ("lines", "continues", "why"),
    [
        ([SOLVED, SOLVED], True, None),
        ([SOLVED, SOLVED], False, "all rollouts of a task earned the same .mean 1.00."),
        ([SOLVED, NOTHING], True, "all rollouts of a task earned the same"),
    ],
)
def test_a_served_adapter_that_solves_every_task_goes_to_the_evaluation(
    lines: list[dict], continues: bool, why: str | None, adapted: PeftModel
) -> None:
    found = why_nothing_learned(lines, Algorithm(), adapted, None, continues)
    assert found is None if why is None else re.search(why, found or "")


@pytest.mark.parametrize(
    ("lines", "kept", "expected"),
    [
        ([LEARNED, *[SAFE] * 10], None, 0.5),
        ([*[LEARNED] * 20, *[SAFE] * 10], None, 0.5),
        ([LEARNED, *[SAFE] * 9], None, None),
        ([LEARNED, *[SAFE] * 9, LEARNED], None, None),
        # One group had rewards that differed.
        ([*[SAFE] * 9, {**SAFE, "taughtShare": 0.25}, SAFE], None, None),
        # Rewards differ between tasks, or from one iteration to the next.
        ([LEARNED, *[{**SAFE, "rewardStd": 0.2}] * 10], None, None),
        ([LEARNED, *[SAFE] * 9, {**SAFE, "reward": 0.75}], None, None),
        # Solved, or nothing earned.
        ([LEARNED, *[{**SAFE, "reward": 1.0}] * 10], None, None),
        ([LEARNED, *[{**SAFE, "reward": 0.0}] * 10], None, None),
        # The adapter is the one before it became so.
        ([*[LEARNED] * 6, *[SAFE] * 20], 6, None),
        ([*[LEARNED] * 6, *[SAFE] * 20], 16, 0.5),
        # Lines of an older trainer.
        ([{name: value for name, value in SAFE.items() if name != "taughtShare"}] * 12, None, None),
    ],
)
def test_a_safe_partial_reward_is_told(lines: list[dict], kept: int | None, expected: float | None) -> None:
    assert partial_reward(lines, Algorithm(groups=4), 1, kept) == expected


def test_its_window_sees_every_environment() -> None:
    assert partial_reward([SAFE] * 11, Algorithm(groups=4), 45, None) is None
    assert partial_reward([SAFE] * 12, Algorithm(groups=4), 45, None) == 0.5


def test_an_adapter_that_is_the_base_model_is_told_by_its_weights(adapted: PeftModel) -> None:
    a, b = (
        next(weight for name, weight in adapted.named_parameters() if f"q_proj.lora_{side}" in name) for side in "AB"
    )
    module = adapted.base_model.model.model.layers[0].self_attn.q_proj
    change = module.scaling["default"] * (b @ a)
    before = {name: weight.detach().clone() for name, weight in adapted.named_parameters() if "lora_B" in name}
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_B" in name and weight is not b:
                weight.zero_()
        assert largest_change(adapted) == pytest.approx(float(change.norm() / module.base_layer.weight.norm()))
        b.mul_(1e-9)
        assert "changes nothing" in (why_nothing_learned([LEARNED], Algorithm(), adapted, None, False) or "")
        for name, weight in adapted.named_parameters():
            if name in before:
                weight.copy_(before[name])
