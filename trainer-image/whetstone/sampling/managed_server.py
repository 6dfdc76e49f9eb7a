"""A vLLM server that belongs to one trainer.

The trainer starts it, and it ends with the trainer. No other program knows its address.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

from whetstone.cut_text import end_of

from .local_port import HOST, LocalPort
from .sampler import SamplerRefused
from .supervise import Plan, end_with_parent
from .vllm_command import ServerNeeds, VllmMissing, server_arguments, server_command, server_environment, vllm_python

# The server's share of the GPU's memory. The trainer is on the same GPU.
GPU_SHARE = 0.4
# Time for the server's processes to end before they are killed.
GRACE_SECONDS = 15.0
# Largest number of characters of the server's log in a failure.
LOG_CHARACTERS = 1_500


class ManagedServer:
    """Starts the server; `url` and `key` are its address and API key. Its output is written to the file `log`.

    At that point the server is not ready yet. A small process supervises it. It restarts the server when the server
    ends, and ends it when this process ends for any reason.
    """

    def __init__(self, needs: ServerNeeds, log: Path, environment: dict[str, str]) -> None:
        try:
            python = vllm_python(environment)
        except VllmMissing as error:
            raise SamplerRefused(f"training.sampler is managed: {error}") from None
        self._port = LocalPort()
        self.url, self.key, self.log = f"http://{HOST}:{self._port.number}", secrets.token_hex(24), log
        # The key is an environment variable, because other users of the machine can read a process's arguments.
        variables = {**server_environment(environment, needs.gpu), "VLLM_API_KEY": self.key}
        command = server_command(python, self._port.number)
        plan = Plan([*command, *server_arguments(needs)], str(log), GRACE_SECONDS)
        parent = os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-S", str(Path(__file__).with_name("supervise.py"))],
            stdin=subprocess.PIPE,
            env=variables,
            start_new_session=True,
            preexec_fn=lambda: end_with_parent(parent),
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(plan.__dict__).encode())
        self._process.stdin.close()

    @property
    def ended(self) -> bool:
        """True when the supervisor has ended: the server ended soon after each of its starts, or `close` was called."""
        # This is not poll(), which only knows children of the calling process: forked jobs call it, too.
        try:
            state = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        return state in "ZX"

    def last_words(self) -> str:
        """The last lines of the server's log that name an error, at most LOG_CHARACTERS characters.

        They are few, because many people may read a failure, and a crash may print a customer's words.
        """
        try:
            lines = self.log.read_text(errors="replace").splitlines()[-400:]
        except OSError:
            return ""
        telling = [line for line in lines if "Error" in line or "error" in line] or lines
        return end_of("\n".join(telling[-6:]), LOG_CHARACTERS)

    def close(self) -> None:
        """Ends the server and waits for it. Idempotent."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(2 * GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._port.close()
