"""Part 'devices': the trainer's own check of GPUs, and the device's rate of bfloat16 matrix products."""

from __future__ import annotations

import time

import torch
from whetstone.train.trial.devices import platform_version, usable_devices
from whetstone.train.trial.place import Unfit

REPEATS = 10


def cases(settings: dict) -> list:
    """The cases of this part."""
    return [("check", lambda: check(settings["device"])), ("matrix", lambda: matrix(settings))]


def check(device: str) -> dict:
    """What the trainer's check finds; on a processor, that it refuses a GPU."""
    built = {"builtFor": platform_version(), "torch": torch.__version__}
    if device == "cuda":
        return {**built, "devices": usable_devices(1)}
    try:
        usable_devices(1)
    except Unfit as error:
        return {**built, "devices": usable_devices(0), "refused": str(error)}
    raise RuntimeError("a GPU was found where there is none")


def matrix(settings: dict) -> dict:
    """Operations a second of a square product: two for each multiplication and addition. The mean of ten."""
    size, device = 64 if settings["tiny"] else 8192, settings["device"]
    a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    for _ in range(3):
        a @ b
    wait(device)
    start = time.perf_counter()
    for _ in range(REPEATS):
        a @ b
    wait(device)
    seconds = (time.perf_counter() - start) / REPEATS
    return {"size": size, "seconds": round(seconds, 6), "matrixRate": round(2 * size**3 / seconds)}


def wait(device: str) -> None:
    """Waits until the device has done what it was given."""
    if device == "cuda":
        torch.cuda.synchronize()
