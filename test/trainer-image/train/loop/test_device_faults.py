"""Tier: unit. Which exceptions are the GPU's."""

from __future__ import annotations

import pytest
import torch
from whetstone.envs.errors import SandboxError
from whetstone.train.job.exit_codes import GPU_FAULT, GPU_OUT_OF_MEMORY
from whetstone.train.loop.device_faults import device_exit_code


def accelerator(message: str, code: int | None) -> Exception:
    error = torch.AcceleratorError(message)
    if code is not None:
        error.error_code = code
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), GPU_OUT_OF_MEMORY),
        (accelerator("CUDA error: unspecified launch failure", 719), GPU_FAULT),
        (accelerator("CUDA error: uncorrectable ECC error encountered", None), GPU_FAULT),
        (accelerator("CUDA error: device-side assert triggered", 710), None),
        (RuntimeError("CUDA error: GPU is lost, Xid 79"), None),
        (SandboxError("Sandbox.EnvironmentRaised", "CUDA out of memory; Xid 79: GPU has fallen off the bus"), None),
    ],
)
def test_the_type_decides_and_not_the_words(error: Exception, code: int | None) -> None:
    assert device_exit_code(error) == code
