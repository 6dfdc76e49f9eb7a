"""A vLLM server that belongs to one trainer: started by it, on an address that only it knows, and ended with it."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .sampler import SamplerRefused
from .supervise import Plan, end_with_parent
from .vllm_server import RANKS

# The virtual environment that scripts/vllm.sh makes, beside the package's own folder.
INSTALLED = Path(__file__).resolve().parents[3] / ".toolchain" / "vllm" / "bin" / "python"
# Of the GPU's memory, when the trainer is on the same GPU.
GPU_SHARE = 0.4
# Time that the server's processes have to end before they are killed.
GRACE_SECONDS = 15.0
# Of the server's log in a failure, in characters.
MOST_WORDS = 1_500


@dataclass(frozen=True)
class ServerNeeds:
    """What trainings need of their server: the model directory, the largest rank, and how many trainings there are.

    `length` is the longest sequence in tokens; None: the model's own. `gpu`: this machine has one.
    """

    model: str
    rank: int
    trainings: int
    length: int | None
    gpu: bool


def vllm_python(environment: dict[str, str]) -> str:
    """The interpreter that has vLLM: WHET_VLLM_PYTHON, or the one that scripts/vllm.sh installed.

    Raises SamplerRefused when there is none.
    """
    named = environment.get("WHET_VLLM_PYTHON")
    if named:
        if not os.access(named, os.X_OK):
            raise SamplerRefused(f"WHET_VLLM_PYTHON is {named}, which is no program; it must be a Python that has vLLM")
        return named
    if os.access(INSTALLED, os.X_OK):
        return str(INSTALLED)
    raise SamplerRefused(
        "training.sampler is managed, and there is no vLLM to start: run scripts/vllm.sh, or name a Python that has"
        " vLLM in WHET_VLLM_PYTHON"
    )


def server_arguments(needs: ServerNeeds) -> list[str]:
    """Arguments of vLLM's server, without its address."""
    rank = next((one for one in RANKS if one >= needs.rank), needs.rank)
    arguments = ["--model", needs.model, "--enable-lora", "--max-lora-rank", str(rank)]
    # Each training's next adapter is loaded before its last one goes.
    arguments += ["--max-loras", str(needs.trainings), "--max-cpu-loras", str(2 * needs.trainings)]
    arguments += ["--logprobs-mode", "processed_logprobs", "--no-enable-log-requests"]
    if needs.length:
        arguments += ["--max-model-len", str(needs.length)]
    if needs.gpu:
        arguments += ["--gpu-memory-utilization", str(GPU_SHARE)]
    else:
        arguments += ["--dtype", "float32", "--enforce-eager"]
    return arguments


class ManagedServer:
    """Starts the server; `url` and `key` are its address and API key. Its output goes to the file `log`.

    It is not ready yet. A small process supervises it: it starts the server again when that ends, and ends it when
    this process ends, however that may be.
    """

    def __init__(self, needs: ServerNeeds, log: Path, environment: dict[str, str]) -> None:
        python = vllm_python(environment)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url, self.key, self.log = f"http://127.0.0.1:{port}", secrets.token_hex(24), log
        added = {
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
            # Not an argument: other users of the machine can read those.
            "VLLM_API_KEY": self.key,
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "PYTHONUNBUFFERED": "1",
        }
        if not needs.gpu:
            added.setdefault("VLLM_CPU_KVCACHE_SPACE", environment.get("VLLM_CPU_KVCACHE_SPACE", "1"))
        # The trainer's settings are not the server's, which has packages of its own.
        kept = {key: value for key, value in environment.items() if key not in ("PYTHONPATH", "OMP_NUM_THREADS")}
        command = [python, "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", str(port)]
        plan = Plan([*command, *server_arguments(needs)], str(log), GRACE_SECONDS)
        parent = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-S", str(Path(__file__).with_name("supervise.py"))],
            stdin=subprocess.PIPE,
            env={**kept, **added},
            start_new_session=True,
            preexec_fn=lambda: end_with_parent(parent),
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(plan.__dict__).encode())
        self._process.stdin.close()

    @property
    def ended(self) -> bool:
        """True when the server could not be kept up: it ended again and again before it was ready."""
        # Not poll(): a process that was forked from this one asks, too.
        try:
            state = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        return state in "ZX"

    def last_words(self) -> str:
        """The last lines of the server's log that name an error, at most MOST_WORDS characters.

        They travel far, and a crash may print what a customer wrote.
        """
        try:
            lines = self.log.read_text(errors="replace").splitlines()[-400:]
        except OSError:
            return ""
        telling = [line for line in lines if "Error" in line or "error" in line] or lines
        return "\n".join(telling[-6:])[-MOST_WORDS:]

    def close(self) -> None:
        """Ends the server and waits for it. Idempotent."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(2 * GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
