"""Cuts one step's rollouts into minibatches whose gradients add up to the step's gradient."""

from __future__ import annotations

import torch

# TRL divides these losses by the number of rollouts, or of tokens, that it gets. It divides the other losses by the
# whole step's number.
MEANS_OVER_ROLLOUTS, MEANS_OVER_TOKENS = frozenset({"grpo", "dr_grpo"}), frozenset({"bnpo"})


def minibatches(inputs: dict, tokens: int) -> list[dict]:
    """The step's tensors in parts of at most `tokens` tokens, including padding; in one part if `tokens` is 0.

    `inputs` are TRL's tensors of a step, with one row for each rollout. Rows are sorted by length to save padding. The
    longest come first, so that a device with too little memory fails at the first part. A row over the limit is a
    separate part. `num_items_in_batch` keeps the value of the whole step: losses are divided by it, so they add up.
    """
    if not tokens:
        return [inputs]
    prompts, completions = (inputs[f"{name}_mask"].sum(1).tolist() for name in ("prompt", "completion"))
    order = sorted(range(len(prompts)), key=lambda row: (-prompts[row] - completions[row], row))
    parts: list[list[int]] = []
    for row in order:
        wider = [*parts[-1], row] if parts else [row]
        width = max(prompts[one] for one in wider) + max(completions[one] for one in wider)
        if parts and len(wider) * width <= tokens:
            parts[-1] = wider
        else:
            parts.append([row])
    return [_select(inputs, rows, prompts, completions) for rows in parts]


def _select(inputs: dict, rows: list[int], prompts: list[int], completions: list[int]) -> dict:
    """Some rows, without columns that contain only padding.

    Prompts are padded on the left, completions on the right.
    """
    prompt, completion = max(prompts[row] for row in rows), max(completions[row] for row in rows)
    index = torch.tensor(rows, device=inputs["prompt_ids"].device)
    part = {}
    for key, value in inputs.items():
        if value is None or not value.ndim:
            part[key] = value
        elif value.ndim == 1:
            part[key] = value[index]
        elif key.startswith("prompt_"):
            part[key] = value[index, value.shape[1] - prompt :]
        else:
            part[key] = value[index, :completion]
    return part


def part_weight(loss_type: str, part: dict, rollouts: int, tokens: int) -> float:
    """The factor with which the losses of minibatches add up to the step's loss.

    `part` has the minibatch's tensors; `rollouts` and `tokens` are the sizes of the whole step.
    """
    if loss_type in MEANS_OVER_ROLLOUTS:
        return len(part["completion_ids"]) / rollouts
    if loss_type in MEANS_OVER_TOKENS:
        return int((part["completion_mask"] * part["tool_mask"]).sum()) / max(1, tokens)
    return 1.0


def token_mean(values: list[float], parts: list[dict]) -> float:
    """The mean over all tokens, from the mean of each part. 0 if there are no values.

    Parts beyond the number of values belong to the supervised loss; they come last and have no value.
    """
    if len(values) < 2:
        return sum(values, 0.0)
    counts = [int((part["completion_mask"] * part["tool_mask"]).sum()) for part in parts[: len(values)]]
    return sum(value * count for value, count in zip(values, counts, strict=True)) / max(1, sum(counts))
