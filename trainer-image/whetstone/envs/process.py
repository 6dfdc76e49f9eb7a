"""One environment in a separate process: requests go in, outcomes come out.

An outcome is ``{"result": ...}`` or ``{"error": {"type", "message", "traceback"}}``. If the process itself fails (no
answer in time, an answer outside the protocol, its end), SandboxError is raised and the process is killed.
"""

import contextlib
import json
import math
import os
import select
import signal
import time

from whetstone.cut_text import end_of, text_of_end

from .answers import is_not_run, read_answer
from .errors import SandboxError

# Bytes of a request line that are reserved for the text around the requests.
ENVELOPE_BYTES = 256
# Signals that no limit of the jail sends, except the memory limit of its control group, which is checked first.
# bubblewrap reports a killed process as exit code 128 + signal. An environment can imitate that, so the trainer is
# restarted only a few times because of it.
KILLED_FROM_OUTSIDE = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM})
READ_BYTES = 1 << 18


class EnvironmentProcess:
    """One environment in one process. Not thread-safe."""

    def __init__(self, launched, profile, name):
        self.name = name
        self.sha256 = None
        self._launched = launched
        self._caps = profile.caps
        self._wall = profile.wall_seconds
        self._memory_bytes = profile.settings["cgroup"]["memoryBytes"]
        self._failure = None
        self._last_id = 0
        self._pending = bytearray()
        self._log = bytearray()
        self._log_bytes = 0
        os.set_blocking(launched.requests, False)
        self._poll = select.poll()
        self._poll.register(launched.responses, select.POLLIN)
        self._poll.register(launched.logs, select.POLLIN)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def pid(self):
        """Process id of the launched command, on the host."""
        return self._launched.pid

    def start(self, source):
        """Loads the module's source; called once, by open_environment."""
        try:
            self.sha256 = self.request("load", {"source": source})["sha256"]
        except SandboxError as error:
            self.close()
            if error.type == "Sandbox.EnvironmentDied":
                raise SandboxError("Sandbox.StartFailed", f"{error.message} It had not been loaded.") from error
            raise
        return self

    def describe(self):
        """{"tools", "hasSay", "hasHints"}."""
        return self.request("describe", {})

    def request(self, method, params):
        """Result of one request. Raises SandboxError for any error, including the environment's own."""
        asked = {"method": method, "params": params}
        outcome = self._exchange([(asked, json.dumps(asked, allow_nan=False))], single=True)[0]
        if "error" in outcome:
            error = outcome["error"]
            trace = error["traceback"]
            message = f"Environment {self.name}: {error['message']}" + (f"\n{trace}" if trace else "")
            raise SandboxError(f"Sandbox.{error['type']}", message, trace)
        return outcome["result"]

    def batch(self, requests):
        """Outcomes of the requests, in order; they are sent in as few lines as their sizes allow."""
        waiting = [(index, request, json.dumps(request, allow_nan=False)) for index, request in enumerate(requests)]
        outcomes = [None] * len(waiting)
        while waiting:
            taken, size = 0, ENVELOPE_BYTES
            for _, _, text in waiting[: self._caps["batchRequests"]]:
                size += len(text) + 1
                if taken and size > self._caps["lineBytes"]:
                    break
                taken += 1
            line, waiting = waiting[:taken], waiting[taken:]
            answers = self._exchange([(request, text) for _, request, text in line], single=False)
            # NotRun: the response line was full before this request's turn, so it had no effect. The first request of a
            # line always runs.
            again = [item for item, answer in zip(line, answers, strict=True) if is_not_run(answer)]
            if len(again) == len(line):
                raise self._fail("Sandbox.BadOutput", "ran no request of a batch.")
            for (index, _, _), answer in zip(line, answers, strict=True):
                outcomes[index] = answer
            waiting = again + waiting
        return outcomes

    def close(self):
        """Ends the process: closes its request pipe, waits briefly, then kills it. Idempotent."""
        if self._launched is None:
            return
        launched, self._launched = self._launched, None
        self._failure = self._failure or SandboxError(
            "Sandbox.EnvironmentClosed", f"Environment {self.name} was closed."
        )
        _close(launched.requests)
        _ends_within(launched.pid, self._wall["close"])
        launched.kill()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(launched.pid, 0)
        launched.release()
        _close(launched.responses)
        _close(launched.logs)

    def log_tail(self):
        """The last bytes of stdout and stderr, as text."""
        return text_of_end(self._log)

    def _exchange(self, asked, single):
        """Sends one line and returns its outcomes, each checked by its method's schema. asked: (request, its JSON)."""
        if self._failure is not None:
            raise self._failure
        self._last_id += 1
        texts = [text for _, text in asked]
        body = texts[0][1:-1] if single else f'"method": "batch", "params": {{"requests": [{",".join(texts)}]}}'
        line = f'{{"id": {self._last_id}, {body}}}\n'.encode()
        if len(line) > self._caps["lineBytes"]:
            cap = self._caps["lineBytes"]
            raise SandboxError(
                "Sandbox.BadRequest", f"A request of {len(line)} bytes is over the protocol's {cap} bytes a line."
            )
        wall = self._wall["start" if self.sha256 is None else "request"]
        answer = self._talk(line, time.monotonic() + wall, wall)
        outcomes = read_answer(answer, self._last_id, [request for request, _ in asked], single, self._caps["depth"])
        if outcomes is None:
            raise self._fail(
                "Sandbox.BadOutput", f"answered with something the protocol does not allow: {answer[:200]!r}"
            )
        return outcomes

    def _talk(self, line, deadline, wall):
        """Writes a line and reads one. Meanwhile it drains the logs, so that neither side waits for a full pipe."""
        unsent = memoryview(line)
        self._poll.register(self._launched.requests, select.POLLOUT)
        while True:
            end = self._pending.find(b"\n")
            if end >= 0:
                answer = bytes(self._pending[:end])
                del self._pending[: end + 1]
                return answer
            if len(self._pending) > self._caps["lineBytes"]:
                raise self._fail("Sandbox.BadOutput", f"answered with a line over {self._caps['lineBytes']} bytes.")
            left = deadline - time.monotonic()
            ready = self._poll.poll(max(0, math.ceil(left * 1000)))
            # The check comes even if data is ready, because an endless trickle of bytes is no answer.
            if left <= 0:
                raise self._fail(
                    "Sandbox.EnvironmentHung", f"did not answer within {wall:g} s; its process was killed."
                )
            for descriptor, _ in ready:
                if descriptor == self._launched.requests:
                    unsent = self._send(unsent)
                elif descriptor == self._launched.logs:
                    self._drain_log()
                else:
                    chunk = os.read(descriptor, READ_BYTES)
                    if not chunk:
                        raise self._died()
                    self._pending += chunk

    def _send(self, unsent):
        try:
            unsent = unsent[os.write(self._launched.requests, unsent) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            # The process is gone; next, the end of the response pipe shows it.
            unsent = unsent[:0]
        if not unsent:
            self._poll.unregister(self._launched.requests)
        return unsent

    def _drain_log(self):
        chunk = os.read(self._launched.logs, READ_BYTES)
        if not chunk:
            self._poll.unregister(self._launched.logs)
            return
        self._log_bytes += len(chunk)
        self._log = (self._log + chunk)[-self._caps["logTailBytes"] :]
        if self._log_bytes > self._caps["logBytes"]:
            raise self._fail(
                "Sandbox.OutputFlood", f"wrote more than {self._caps['logBytes']} bytes to stdout or stderr."
            )

    def _died(self):
        """Error for a closed response channel, whether or not the process has ended."""
        ended = _ends_within(self._launched.pid, self._wall["close"])
        self._launched.kill()
        _, status = os.waitpid(self._launched.pid, 0)
        self._drain_rest()
        words = end_of(self.log_tail().strip(), 400)
        last = f" Its last words: {words}" if words else ""
        if not ended:
            return self._fail("Sandbox.EnvironmentHung", f"closed its response channel and went on; killed.{last}")
        if self._launched.broke_memory_limit():
            return self._fail(
                "Sandbox.EnvironmentDied",
                f"used more than its {self._memory_bytes >> 20} MiB of memory and was killed.{last}",
            )
        code = os.waitstatus_to_exitcode(status)
        killer = -code if code < 0 else code - 128
        if killer in KILLED_FROM_OUTSIDE:
            return self._fail(
                "Sandbox.EnvironmentKilled",
                f"process was killed by signal {killer}, and not by a limit of its own: somebody killed it, or the "
                f"machine had no memory left.{last}",
            )
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}{_signal_behind(code)}"
        return self._fail("Sandbox.EnvironmentDied", f"process {how}.{last}")

    def _drain_rest(self):
        """Reads the rest of the log pipe, up to the allowed bytes, because without a jail a child may remain."""
        os.set_blocking(self._launched.logs, False)
        left = self._caps["logBytes"]
        with contextlib.suppress(BlockingIOError):
            while left > 0 and (chunk := os.read(self._launched.logs, READ_BYTES)):
                self._log = (self._log + chunk)[-self._caps["logTailBytes"] :]
                left -= len(chunk)

    def _fail(self, kind, sentence):
        """Kills the process and returns the error for the caller to raise; later requests raise it again."""
        self._failure = SandboxError(kind, f"Environment {self.name} {sentence}")
        self._launched.kill()
        self.close()
        return self._failure


def _ends_within(pid, seconds):
    """Waits for the end of a process without reaping it; False if it has not ended by then."""
    deadline = time.monotonic() + seconds
    while not _has_ended(pid):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.002)
    return True


def _has_ended(pid):
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _close(descriptor):
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _signal_behind(code):
    """The signal in bubblewrap's exit code, as the end of a sentence; empty if there is none."""
    try:
        return f", which stands for {signal.Signals(code - 128).name}"
    except ValueError:
        return ""
