"""Parts 'update-…': one step of the update with our trainer and with TRL's, on the same rows of one shape."""

from __future__ import annotations

import gc
import statistics
import time
from pathlib import Path

import torch
from devices import wait
from estimate import estimate
from rows import Rows, our_trainer, plain_trainer, rows_of
from shapes import Shape, make_model, precision, shape_of
from transformers import TrainerCallback
from whetstone.train.loop.trl_settings import quiet_libraries

TOKENS = (4096, 16_384)
LENGTH = 2048
# One to warm up; the others are measured.
STEPS, TINY_STEPS = 3, 2


class Clock(TrainerCallback):
    """Seconds of each step, from the given rollouts to the end of the optimiser's step."""

    def __init__(self, device: str) -> None:
        self._device, self._start = device, 0.0
        self.seconds: list[float] = []

    def on_step_begin(self, args, state, control, **_):
        """Transformers' hook."""
        wait(self._device)
        self._start = time.perf_counter()

    def on_step_end(self, args, state, control, **_):
        """Transformers' hook."""
        wait(self._device)
        self.seconds.append(time.perf_counter() - self._start)


def cases(settings: dict) -> list:
    """Ours and plain for each number of tokens; the larger one with gradient checkpointing, too."""
    shape, tiny = shape_of(settings["shape"], settings["tiny"]), settings["tiny"]
    small, large = (128, 256) if tiny else TOKENS
    length = 32 if tiny else LENGTH
    return [
        (
            f"{side} {tokens}{' checkpointing' if again else ''}",
            lambda side=side, tokens=tokens, again=again: step(shape, side, rows_of(tokens, length), again, settings),
        )
        for tokens, again in ((small, False), (large, True), (large, False))
        for side in ("ours", "plain")
    ]


def step(shape: Shape, side: str, rows: Rows, again: bool, settings: dict) -> dict:
    """Figures of the update. Where the memory does not suffice, the exception carries the estimate and the peak."""
    device = settings["device"]
    algorithm = rows.algorithm(TINY_STEPS if settings["tiny"] else STEPS, updateTokens=0, gradientCheckpointing=again)
    options = {name: getattr(algorithm, name) for name in ("rank", "groups", "rolloutsPerGroup", "maxTurns")}
    options |= {"maxCompletionTokens": rows.completion, "gradientCheckpointing": again, "sampler": "managed"}
    # The rows are given, so the estimate need not assume how long they are.
    guess = estimate(shape.sizes, {**options, "updateTokens": rows.tokens}, device == "cuda")
    figures: dict = {"tokens": rows.tokens, "rows": rows.groups * rows.rollouts, "estimateBytes": guess["total"]}
    clear(device)
    if device == "cuda":
        # Nothing of the case before should be left.
        figures["leftBytes"] = torch.cuda.memory_allocated()
    try:
        figures |= _measure(shape, side, rows, algorithm, settings)
    except torch.OutOfMemoryError as error:
        error.figures = {**figures, **peak(device)}
        # What the frames of the exception hold is freed with it, before the next case.
        error.__traceback__ = None
        raise
    finally:
        clear(device)
    return {**figures, **peak_share(figures)}


def _measure(shape: Shape, side: str, rows: Rows, algorithm, settings: dict) -> dict:
    device, output = settings["device"], Path(settings["scratch"]) / "update"
    clock = Clock(device)
    # As the trainer's run sets it (loop/run.py), and as plain TRL does not.
    torch.use_deterministic_algorithms(side == "ours", warn_only=device == "cuda")
    quiet_libraries()
    model = make_model(shape, device, precision(device))
    make = our_trainer if side == "ours" else plain_trainer
    trainer = make(model, rows, algorithm, output)
    trainer.add_callback(clock)
    trainer.train()
    seconds = statistics.median(clock.seconds[1:])
    shared = side == "ours" and trainer._shares_prompts
    read = rows.read(shared)
    trained = [(name, p.numel()) for name, p in trainer.model.named_parameters() if p.requires_grad]
    # The reference's pass forward, the policy's forward and back; the frozen weights get no gradients.
    work = 6 * (shape.linear * read + shape.head * rows.groups * rows.rollouts * rows.completion)
    rate = settings["matrixRate"]
    return {
        "seconds": round(seconds, 4),
        "tokensPerSecond": round(rows.tokens / seconds, 1),
        "tokensRead": read,
        "sharesPrompts": shared,
        "shareOfMatrixRate": round(work / seconds / rate, 4) if rate else None,
        "adapterParameters": sum(count for _, count in trained),
        "adaptsExperts": any("experts" in name for name, _ in trained),
        **peak(device),
    }


def peak(device: str) -> dict:
    """Most memory in use since `clear`, weights included; on a processor it is not measured."""
    if device != "cuda":
        return {"peakBytes": None, "peakReservedBytes": None}
    return {
        "peakBytes": torch.cuda.max_memory_allocated(),
        "peakReservedBytes": torch.cuda.max_memory_reserved(),
    }


def peak_share(figures: dict) -> dict:
    """The peak as a share of the estimate."""
    measured = figures["peakBytes"]
    return {"peakOfEstimate": round(measured / figures["estimateBytes"], 3) if measured else None}


def clear(device: str) -> None:
    """Frees what the last case has left and begins to look for the peak again."""
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
