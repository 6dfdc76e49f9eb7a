"""A real vLLM server as a child process."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

from whetstone.sampling.local_port import LocalPort
from whetstone.sampling.vllm_command import server_command, server_environment
from whetstone.serve.with_vllm import policy_command

INSTALLED = Path(__file__).resolve().parents[2] / ".toolchain" / "vllm" / "bin" / "python"
PYTHON = os.environ.get("WHET_VLLM_PYTHON") or str(INSTALLED)
START_SECONDS = 540
SERVED_NAME = "desk-base"


class VllmProcess:
    """vLLM with a model on a free port of this machine, started as `whet up` starts it; ends with its context.

    Without `adapters` it lacks every flag that Whetstone needs.
    """

    def __init__(self, model: Path, log: Path, adapters: bool = True) -> None:
        # Kept for as long as the server may run.
        self._port = LocalPort()
        port = str(self._port.number)
        self.url, self._log = f"http://127.0.0.1:{port}", log
        if adapters:
            argv = ["--model", str(model), "--served-name", SERVED_NAME, "--port", port]
            argv += ["--rank", "8", "--adapters", "1"]
            command, environment = policy_command(argv, {**os.environ, "WHET_VLLM_PYTHON": PYTHON}, False)
        else:
            environment = server_environment(dict(os.environ), False)
            command = [
                *server_command(PYTHON, self._port.number),
                "--model",
                str(model),
                "--dtype",
                "float32",
                "--enforce-eager",
            ]
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
        self._port.close()

    @property
    def ended(self) -> bool:
        """Whether the server has ended by itself."""
        return self._process.poll() is not None

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
