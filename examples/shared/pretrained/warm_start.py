"""Supervised LoRA of a pretrained checkpoint on transcripts. A training that was killed goes on where it was saved."""

from __future__ import annotations

import os
import pathlib
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import fit
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, get_cosine_schedule_with_warmup

WARMUP_SHARE = 0.05


@dataclass(frozen=True)
class Plan:
    """How a checkpoint is trained. Alpha is twice the rank.

    Args:
        batch: transcripts of a step.
        learning_rate: at the end of the warmup; it then falls to 0.
        dtype: of the weights that do not learn.
        sorted_together: batches whose transcripts are sorted by length together.
        save_every: steps after which the state is saved.
    """

    batch: int
    learning_rate: float
    dtype: str = "float32"
    rank: int = 32
    sorted_together: int = 8
    save_every: int = 10


def warm_start(
    base: pathlib.Path,
    examples: list[tuple[list[int], list[bool]]],
    plan: Plan,
    seed: int,
    state: pathlib.Path,
    unlearned: dict[int, int],
    report: Callable[[int, float, int], None],
) -> tuple[Any, float]:
    """One pass over the transcripts; returns the merged model in float32 and the last loss in nats a token.

    Args:
        base: folder of the checkpoint.
        examples: token ids of each transcript, and which of them the model learns to say.
        state: file in which the training is saved, and from which it goes on if it is there. It is left there.
        unlearned: tokens that the checkpoint never learned, and for each a learned one that no transcript has.
        report: called after each saved step with its number, the loss, and how many steps were done at the beginning.
    """
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=getattr(torch, plan.dtype))
    _swap(model, unlearned)
    # The layers of `model` itself are replaced.
    adapted = get_peft_model(model, LoraConfig(r=plan.rank, lora_alpha=2 * plan.rank, target_modules="all-linear"))
    learned = {name: value for name, value in model.named_parameters() if value.requires_grad}
    steps = len(examples) // plan.batch
    optimiser = torch.optim.AdamW(learned.values(), lr=plan.learning_rate, weight_decay=0.0)
    schedule = get_cosine_schedule_with_warmup(optimiser, int(steps * WARMUP_SHARE), steps)
    saved = torch.load(state) if state.exists() else {"step": 0, "loss": 0.0}
    begun, last = saved["step"], saved["loss"]
    if begun:
        model.load_state_dict(saved["learned"], strict=False)
        optimiser.load_state_dict(saved["optimiser"])
        schedule.load_state_dict(saved["schedule"])
    batches = fit.batches(examples, plan.batch, plan.sorted_together, random.Random(f"order:{seed}"))
    for step in range(1, steps + 1):
        ids, rows, targets = next(batches)
        if step <= begun:
            continue
        # Padding is on the right, where causal attention never looks. Only what the agent says has logits.
        states = model.model(ids).last_hidden_state.flatten(0, 1)[rows]
        loss = torch.nn.functional.cross_entropy(model.lm_head(states).float(), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned.values(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        last = loss.item()
        if step % plan.save_every == 0 or step == steps:
            made = {"learned": learned, "optimiser": optimiser.state_dict(), "schedule": schedule.state_dict()}
            _write({"step": step, "loss": last, **made}, state)
            report(step, last, begun)
    # In bfloat16 the weights would lose a part of what the adapter adds to them.
    model.float()
    return adapted.merge_and_unload(), last


def _swap(model: Any, tokens: dict[int, int]) -> None:
    """Swaps the embeddings of each two tokens.

    The rows of tokens that were never learned are all but equal, so that no layer below can tell their logits apart.
    The mean of other rows would not do: its logit is the mean of theirs, and so never the largest.
    """
    with torch.no_grad():
        for embedding in (model.get_input_embeddings(), model.get_output_embeddings()):
            for pair in tokens.items():
                embedding.weight[list(pair)] = embedding.weight[list(pair[::-1])]


def _write(value: dict, path: pathlib.Path) -> None:
    """A process that is killed here leaves the file as it was."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    torch.save(value, unfinished)
    os.replace(unfinished, path)
