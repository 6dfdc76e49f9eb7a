"""A real vLLM server as a child process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

INSTALLED = Path(__file__).resolve().parents[2] / ".toolchain" / "vllm" / "bin" / "python"
PYTHON = os.environ.get("WHET_VLLM_PYTHON") or str(INSTALLED)
START_SECONDS = 540


class VllmProcess:
    """`vllm serve` of a model on a free port of this machine; a context manager that ends its process group."""

    def __init__(self, model: Path, log: Path, adapters: bool = True) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url, self._log = f"http://127.0.0.1:{self.port}", log
        command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--model", str(model), "--dtype", "float32", "--enforce-eager"]
        if adapters:
            command += ["--enable-lora", "--max-lora-rank", "8", "--max-loras", "1"]
            command += ["--logprobs-mode", "processed_logprobs"]
        kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "OMP_NUM_THREADS")}
        environment = {
            **kept,
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
            "VLLM_CPU_KVCACHE_SPACE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "HF_HUB_OFFLINE": "1",
        }
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                command, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def __enter__(self) -> VllmProcess:
        return self

    def __exit__(self, *_: object) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
                self._process.wait(20)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        self._process.wait()

    def wait(self) -> None:
        """Returns when the server is ready; fails with the end of its log when it ends, or does not get there."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                time.sleep(0.5)
        raise AssertionError(f"vLLM did not start:\n{self._log.read_text(errors='replace')[-4000:]}")
