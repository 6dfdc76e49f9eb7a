"""Starts a process and asks it, as a worker does, with many requests in flight."""

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Driver:
    """A process of `command` (default: this Python) and its pipes. ``beats`` has the beats so far."""

    def __init__(self, *command, python=sys.executable, variables=()):
        request_read, self._requests = os.pipe()
        self._responses, response_write = os.pipe()
        variables = {**os.environ, "PYTHONPATH": str(ROOT / "targets"), **dict(variables)}
        # The shell moves the two pipes to the descriptors of the protocol.
        shell = f'exec "$@" 3<&{request_read} 4>&{response_write}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", python, *map(str, command)],
            env=variables,
            pass_fds=(request_read, response_write),
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(request_read)
        os.close(response_write)
        self.beats, self._answers, self._lock, self._last = [], {}, threading.Lock(), 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, method, **params):
        """Sends a request and returns where its answer will be: a function that waits for it."""
        with self._lock:
            self._last += 1
            identifier = self._last
            box = self._answers[identifier] = queue.SimpleQueue()
            self.send_line(json.dumps({"id": identifier, "method": method, "params": params}))
        return lambda timeout=300: box.get(timeout=timeout)

    def send_line(self, line):
        os.write(self._requests, line.encode() + b"\n")

    def ask(self, method, **params):
        """The result of a request, or the error that it gives as {"type", ...}."""
        answer = self.send(method, **params)()
        return answer["result"] if "result" in answer else answer["error"]

    def close(self):
        """Ends it by closing its requests. Returns its exit code and what it wrote to standard error."""
        os.close(self._requests)
        log = self.process.communicate(timeout=30)[1]
        self._reader.join(10)
        os.close(self._responses)
        return self.process.returncode, log

    def _read(self):
        with os.fdopen(os.dup(self._responses), "rb") as lines:
            for line in lines:
                answer = json.loads(line)
                if "beat" in answer:
                    self.beats.append(answer["beat"])
                else:
                    self._answers[answer["id"]].put(answer)
