"""Whether torch can compute on the requested GPUs. Importing this module does not load torch."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from .place import Unfit

if TYPE_CHECKING:
    import torch

# Number of rows of the matrices: enough for a real kernel. Every sum of ones is exact, since it is far below 2**24.
SIZE = 512


def usable_devices(asked: int) -> list[dict]:
    """Multiplies matrices on each GPU and returns its name, memory and compute capability. Empty if none was requested.

    Raises Unfit if there are fewer than requested or one cannot be used, and torch's error if a device fails.
    """
    if asked == 0:
        return []
    import torch

    found, said = _count(torch)
    build = f"torch {torch.__version__} ({_platform(torch)})"
    if found < asked:
        raise Unfit(
            f"{'1 GPU was' if asked == 1 else f'{asked} GPUs were'} asked for (training.kubernetes.resources), "
            f"{build} sees {found}{said}; use a trainer image whose CUDA the driver of the node supports, and look at "
            "the node's device plugin"
        )
    return [_try(torch, index, build) for index in range(found)]


def platform_version() -> str | None:
    """The CUDA or ROCm version that torch was built for; None for a build without GPUs. Loads torch."""
    import torch

    return torch.version.cuda or torch.version.hip


def _platform(module: torch) -> str:
    if module.version.cuda:
        return f"built for CUDA {module.version.cuda}"
    return f"built for ROCm {module.version.hip}" if module.version.hip else "built without GPUs"


def _count(module: torch) -> tuple[int, str]:
    """Number of usable devices, and the library's message if there are none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # It says why there is no device, while is_available only says that there is none.
            module.cuda.init()
            return module.cuda.device_count(), ""
        except (RuntimeError, AssertionError) as error:
            words = [str(error).splitlines()[0], *(str(warning.message).splitlines()[0] for warning in caught)]
            return 0, f" ({'; '.join(words)})"


def _try(module: torch, index: int, build: str) -> dict:
    from ..loop.device_faults import device_exit_code

    properties = module.cuda.get_device_properties(index)
    name = f"GPU {index} ({properties.name})"
    try:
        ones = module.ones(SIZE, SIZE, device=f"cuda:{index}")
        right = bool(((ones @ ones) == SIZE).all().item())
    except RuntimeError as error:
        # A device fault and a full memory have their own exit codes.
        if device_exit_code(error) is not None:
            raise
        raise Unfit(f"{name} cannot be used by {build}: {str(error).splitlines()[0]}") from None
    if not right:
        raise Unfit(f"{name} computes wrongly: a product of two matrices of ones is not {SIZE} everywhere")
    return {
        "name": properties.name,
        "memoryBytes": properties.total_memory,
        "capability": f"{properties.major}.{properties.minor}",
    }
