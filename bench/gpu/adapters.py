"""Part 'adapters': several adapters on one base in one process, each with its own optimiser, updated in turn.

The trainer has no such way yet, so the step is written out here: the policy's loss without the KL term, on the
log-probabilities that the trainer computes (loss/shared_prompt.py), with PEFT's adapters on one model.
"""

from __future__ import annotations

import time

import torch
from devices import wait
from peft import PeftModel, get_peft_model
from rows import rows_of
from shapes import make_model, make_tokenizer, precision, shape_of
from trl.trainer.utils import add_fused_lm_head
from update import clear
from whetstone.train.loop.trl_settings import make_lora, quiet_libraries
from whetstone.train.loss.shared_prompt import shared_logprobs

COUNT = 4
SHAPE, TOKENS, LENGTH = "qwen3-4b", 4096, 1024


def cases(settings: dict) -> list:
    """One case: the second figure needs the first."""
    return [("one and four", lambda: one_and_four(settings))]


def one_and_four(settings: dict) -> dict:
    """Memory and seconds of an update with one adapter and with four, and what four were expected to need.

    Expected are the base, four times what the first adapter and its optimiser have added, and one update's activations.
    """
    device, tiny = settings["device"], settings["tiny"]
    rows = rows_of(128, 32) if tiny else rows_of(TOKENS, LENGTH)
    clear(device)
    quiet_libraries()
    model = make_model(shape_of(SHAPE, tiny), device, precision(device))
    model.config.pad_token_id = make_tokenizer().pad_token_id
    base = resident(device)
    add_fused_lm_head(model, outputs=("log_probs", "entropy"))
    lora = make_lora(rows.algorithm(1))
    policy = get_peft_model(model, lora, adapter_name="a0")
    batch = make_batch(rows.episodes(), device)
    optimisers = {"a0": make_optimiser(policy, "a0")}
    one = measure(policy, optimisers, batch, device)
    for number in range(1, COUNT):
        policy.add_adapter(f"a{number}", lora)
        optimisers[f"a{number}"] = make_optimiser(policy, f"a{number}")
    four = measure(policy, optimisers, batch, device)
    expected = over = None
    if base is not None:
        expected = base + COUNT * (one["residentBytes"] - base) + one["peakBytes"] - one["residentBytes"]
        over = round(four["peakBytes"] / expected - 1, 4)
    found = {"tokens": rows.tokens, "adapters": COUNT, "baseBytes": base, "one": one, "four": four}
    return {**found, "expectedPeakBytes": expected, "overExpected": over}


def make_batch(episodes: list, device: str) -> dict[str, torch.Tensor]:
    """Tokens `[rows, columns]`, the agent's tokens `[rows, completion]`, and an advantage of 1 or -1 for each row."""
    return {
        "ids": torch.tensor([one.ids for one in episodes], device=device),
        "mask": torch.tensor([one.sampled for one in episodes], device=device, dtype=torch.float32),
        "advantages": torch.tensor([[2 * one.reward - 1] for one in episodes], device=device),
    }


def make_optimiser(policy: PeftModel, name: str) -> torch.optim.AdamW:
    """AdamW of one adapter's factors."""
    return torch.optim.AdamW([value for key, value in policy.named_parameters() if f".{name}." in key], lr=1e-5)


def measure(policy: PeftModel, optimisers: dict, batch: dict, device: str) -> dict:
    """Two updates of each adapter; the seconds of one of the second round, and the memory then and after it."""
    seconds = 0.0
    for turn in range(2):
        wait(device)
        start = time.perf_counter()
        if turn:
            clear(device)
            start = time.perf_counter()
        for name, optimiser in optimisers.items():
            policy.set_adapter(name)
            update(policy, optimiser, batch)
        wait(device)
        seconds = time.perf_counter() - start
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else None
    found = {"secondsEach": round(seconds / len(optimisers), 4)}
    return {**found, "residentBytes": resident(device), "peakBytes": peak}


def update(policy: PeftModel, optimiser: torch.optim.AdamW, batch: dict[str, torch.Tensor]) -> None:
    """One step of the active adapter."""
    mask, present = batch["mask"], torch.ones_like(batch["ids"])
    found = shared_logprobs(policy, batch["ids"], present, mask.shape[1], len(mask))
    if found is None:
        raise RuntimeError("the rows share no prompts")
    ratio = torch.exp(found[0] - found[0].detach())
    loss = -(ratio * batch["advantages"] * mask).sum() / mask.sum()
    loss.backward()
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


def resident(device: str) -> int | None:
    """Memory in use now; not measured on a processor."""
    return torch.cuda.memory_allocated() if device == "cuda" else None
