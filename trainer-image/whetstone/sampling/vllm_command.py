"""The command line of a vLLM server, with the same flags for the trainer's own server and for the policy server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from whetstone.usable_cores import usable_cores

from .vllm_server import RANKS

# In the virtual environment that scripts/vllm.sh makes in the repository.
INSTALLED = Path(__file__).resolve().parents[3] / ".toolchain" / "vllm" / "bin" / "python"
PYTHON_VARIABLE = "WHET_VLLM_PYTHON"

# With at most this many cores, a server without a GPU runs scheduler and model in one process.
FEW_CORES = 4


class VllmMissing(Exception):
    """There is no Python with vLLM; the message says what to run or to set."""


@dataclass(frozen=True)
class ServerNeeds:
    """The needs of a server: the model directory, the largest rank, and the number of parallel adapters.

    `loaded` is the number of adapters in its memory. `length` is the longest sequence in tokens; None: the model's own.
    `gpu`: this machine has a GPU, and the server uses the share `gpu_share` of its memory.
    """

    model: str
    rank: int
    adapters: int
    loaded: int
    length: int | None
    gpu: bool
    gpu_share: float


def vllm_python(environment: dict[str, str]) -> str:
    """The interpreter with vLLM: WHET_VLLM_PYTHON, or the one that scripts/vllm.sh installed.

    Raises VllmMissing.
    """
    named = environment.get(PYTHON_VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise VllmMissing(f"{PYTHON_VARIABLE} is {named}, which is no program; it must be a Python that has vLLM")
        return named
    if os.access(INSTALLED, os.X_OK):
        return str(INSTALLED)
    raise VllmMissing(
        f"there is no vLLM to start: run scripts/vllm.sh, or name a Python that has vLLM in {PYTHON_VARIABLE}"
    )


def server_command(python: str, port: int) -> list[str]:
    """The program and its address. vLLM's own command works only if the installed package is named vllm."""
    return [python, "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", str(port)]


def server_arguments(needs: ServerNeeds) -> list[str]:
    """Arguments of vLLM's server, without its address."""
    rank = next((one for one in RANKS if one >= needs.rank), needs.rank)
    arguments = ["--model", needs.model, "--enable-lora", "--max-lora-rank", str(rank)]
    arguments += ["--max-loras", str(needs.adapters), "--max-cpu-loras", str(max(needs.loaded, needs.adapters))]
    # Sampled tokens come with the probabilities with which they were drawn.
    arguments += ["--logprobs-mode", "processed_logprobs", "--no-enable-log-requests"]
    if needs.length:
        arguments += ["--max-model-len", str(needs.length)]
    if needs.gpu:
        return [*arguments, "--gpu-memory-utilization", str(needs.gpu_share)]
    # On a processor vLLM 0.32 crashes if the prompt of a request with a seed is read in parts ('CPU Generator does not
    # use offset').
    return [*arguments, "--dtype", "float32", "--enforce-eager", "--no-enable-chunked-prefill"]


def server_environment(environment: dict[str, str], gpu: bool) -> dict[str, str]:
    """Variables of the server's process: `environment` without the variables for the trainer's packages."""
    kept = {key: value for key, value in environment.items() if key not in ("PYTHONPATH", "OMP_NUM_THREADS")}
    added = {
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
        "HF_HUB_OFFLINE": environment.get("HF_HUB_OFFLINE", "1"),
        "VLLM_NO_USAGE_STATS": "1",
        "PYTHONUNBUFFERED": "1",
    }
    if not gpu:
        added |= _on_processors(environment, usable_cores())
    return {**kept, **added}


def _on_processors(environment: dict[str, str], cores: int) -> dict[str, str]:
    """Variables of a server without a GPU. Variables in `environment` keep their values."""
    variables = {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        # Otherwise requests wait until small functions are compiled, and again for each other batch size.
        "TORCHDYNAMO_DISABLE": "1",
    }
    if cores <= FEW_CORES and not environment.get("VLLM_CPU_OMP_THREADS_BIND"):
        # The model runs in the scheduler's process, as on one GPU. Two processes would wait for each other in loops
        # that occupy two cores. vLLM uses the second one to bind threads, which matters on larger machines.
        variables["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    variables = {name: environment.get(name, value) for name, value in variables.items()}
    if variables.get("VLLM_ENABLE_V1_MULTIPROCESSING") == "0":
        # One core is left for HTTP and the trainer. vLLM does the same if it binds threads.
        variables["OMP_NUM_THREADS"] = str(max(1, cores - 1))
    return variables
