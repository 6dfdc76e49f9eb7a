"""Whether a training that came to its end learned anything, and whether it learned a task or only a safe reward."""

from __future__ import annotations

import torch
from peft import PeftModel

from ..job import Algorithm
from ..loss.divergence import window_iterations

# An adapter that changes each layer's weights by a smaller share is the base model: float32 rounds as much.
ROUNDING = 1e-7
# Mean rewards that differ by less are equal.
SAME = 1e-9


def why_nothing_learned(
    lines: list[dict], algorithm: Algorithm, model: PeftModel, kept: int | None, continues: bool
) -> str | None:
    """Why the adapter is that from which the training began, or the base model: a sentence. None: it learned something.

    `lines` are all progress lines. `kept` is the iteration whose adapter the watch chose; None: the last one's.
    None also for a training that `continues` a served adapter which solved every task: that one is worth keeping.
    """
    made = lines[:kept]
    if continues and all(line["reward"] >= 1 for line in made):
        return None
    where = f"{len(made)} iterations" if kept is None else f"{len(made)} iterations up to the kept checkpoint"
    taught = max(line.get("taughtShare", 1.0) for line in made)
    if taught == 0 and not algorithm.supervisedWeight:
        if algorithm.maskTruncated and all(line["truncatedShare"] == 1 for line in made):
            return (
                f"in {where} every rollout was cut, and maskTruncated leaves those out of the update:"
                " raise training.maxCompletionTokens or environment.maxTurns"
            )
        reward = sum(line["reward"] for line in made) / len(made)
        return (
            f"in {where} all rollouts of a task earned the same (mean {reward:.2f}), so there was nothing to compare:"
            " the environment needs tasks that the model solves sometimes, or a finer reward"
        )
    if all(line["gradNorm"] == 0 for line in made):
        return f"in {where} the gradient was 0: no step changed the adapter"
    if largest_change(model) <= ROUNDING:
        return f"after {where} the adapter changes nothing of the base model: raise training.learningRate"
    return None


def partial_reward(lines: list[dict], algorithm: Algorithm, environments: int, kept: int | None) -> float | None:
    """The one reward above 0 and below 1 that all rollouts of the last window earned; None: there is none.

    No group taught anything then: the policy keeps to what is paid safely and tries nothing else. `lines` and `kept`
    are those of `why_nothing_learned`.
    """
    width, made = window_iterations(algorithm.groups, environments), lines[:kept]
    reward, last = made[-1]["reward"], made[-width:]
    if len(last) < width or not SAME < reward < 1 - SAME:
        return None
    # Lines of an older trainer have no share.
    same = (
        abs(line["reward"] - reward) < SAME and line["rewardStd"] < SAME and not line.get("taughtShare", 1)
        for line in last
    )
    return reward if all(same) else None


@torch.no_grad()
def largest_change(model: PeftModel) -> float:
    """The adapter's largest change of a layer's weights, as a share of their norm."""
    shares = [0.0]
    for module in model.modules():
        if "default" not in getattr(module, "lora_B", {}):
            continue
        a, b = (side["default"].weight.double() for side in (module.lora_A, module.lora_B))
        # The norm of B A, by the small product on the other side.
        change = float(((b.T @ b) * (a @ a.T)).sum().clamp(min=0).sqrt()) * abs(module.scaling["default"])
        weight = getattr(module.get_base_layer(), "weight", None)
        # The norm of quantised weights is not known.
        known = weight is not None and weight.is_floating_point()
        shares.append(change / max(float(weight.float().norm()) if known else 1.0, 1e-12))
    return max(shares)
