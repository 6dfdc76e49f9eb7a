"""Tier: unit. How a step is cut into minibatches."""

from __future__ import annotations

import pytest
import torch
from whetstone.train.loss.minibatches import minibatches, token_mean


def make_inputs(prompts: list[int], completions: list[int]) -> dict:
    """Padded as TRL pads; every token of row r is r + 1."""
    ids = {"prompt_ids": [], "prompt_mask": [], "completion_ids": [], "completion_mask": []}
    for row, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        left, right = max(prompts) - prompt, max(completions) - completion
        ids["prompt_ids"].append([0] * left + [row + 1] * prompt)
        ids["prompt_mask"].append([0] * left + [1] * prompt)
        ids["completion_ids"].append([row + 1] * completion + [0] * right)
        ids["completion_mask"].append([1] * completion + [0] * right)
    tensors = {key: torch.tensor(value) for key, value in ids.items()}
    rows = torch.arange(len(prompts), dtype=torch.float32)
    return tensors | {
        "tool_mask": tensors["completion_mask"],
        "advantages": rows,
        "num_items_in_batch": torch.tensor(9),
    }


def test_minibatches_hold_the_longest_first_and_no_padding_of_others() -> None:
    inputs = make_inputs([3, 2, 5, 2], [4, 1, 20, 2])
    parts = minibatches(inputs, 13)
    assert [part["advantages"].tolist() for part in parts] == [[2.0], [0.0], [3.0, 1.0]]
    assert [tuple(part["prompt_ids"].shape) for part in parts] == [(1, 5), (1, 3), (2, 2)]
    assert parts[2]["completion_ids"].tolist() == [[4, 4], [2, 0]]
    assert parts[1]["prompt_ids"].tolist() == [[1, 1, 1]]
    assert all(part["num_items_in_batch"] == 9 for part in parts)
    assert minibatches(inputs, 0) == [inputs]
    assert token_mean([1.0, 2.0, 4.0], parts) == pytest.approx((20 * 1 + 4 * 2 + 3 * 4) / 27)
    assert token_mean([0.3], parts) == 0.3
    assert token_mean([], []) == 0.0
