"""Which of torch's exceptions mean that the GPU failed, or that its memory was too small.

The type of the exception decides, and for a fault CUDA's own code. An environment can put any words into a message, but
it cannot make torch raise.
"""

from __future__ import annotations

import torch

from ..job.exit_codes import GPU_FAULT, GPU_OUT_OF_MEMORY

# cudaError_t: devices unavailable, no device, invalid device, ECC, NVLink, hardware stack, launch failure, contained,
# system not ready, unknown. A wrong address (700) or an assertion (710) is a fault of the program.
DEVICE_FAULTS = frozenset({46, 100, 101, 214, 220, 714, 719, 721, 802, 999})
# torch's words for the same, if the exception carries no code.
FAULT_WORDS = ("uncorrectable", "unspecified launch failure", "device not ready", "no CUDA-capable", "unknown error")


def device_exit_code(error: Exception) -> int | None:
    """The exit code of an exception that the device caused; None for any other exception."""
    if isinstance(error, torch.OutOfMemoryError):
        return GPU_OUT_OF_MEMORY
    if not isinstance(error, torch.AcceleratorError):
        return None
    code = getattr(error, "error_code", None)
    if isinstance(code, int):
        return GPU_FAULT if code in DEVICE_FAULTS else None
    return GPU_FAULT if any(words in str(error) for words in FAULT_WORDS) else None
