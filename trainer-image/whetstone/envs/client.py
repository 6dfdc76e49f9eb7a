"""Client of the environment runtime for the trainer: blocking, one process per environment, many requests a line.

    with open_environment("environment.py", isolation="jail") as environment:
        tools = environment.describe()["tools"]
        outcomes = environment.batch([{"method": "reset", "params": {"episode": 1, "seed": 7}}, ...])

An outcome is ``{"result": ...}`` or ``{"error": {"type", "message", "traceback"}}``, in the order of the requests. A
failure of the process itself (no answer in time, an answer outside the protocol, its end) raises SandboxError and the
process is killed.
"""

import contextlib
import json
import math
import os
import pathlib
import select
import time

from . import jail, jail_probe_client
from .errors import SandboxError

ENVELOPE_BYTES = 256
READ_BYTES = 1 << 18


def open_environment(path, isolation="jail", profile=None):
    """Starts a process for the environment module at ``path`` and loads it.

    isolation: "jail" for generated code, "process" for the owner's. profile: path of a ``sandbox/profile.json``;
    default: the project's. Raises SandboxError: "Sandbox.Unavailable" when a layer of the jail is missing,
    "Sandbox.EnvironmentRaised" or "Sandbox.BadReturn" for faults of the source.
    """
    path = pathlib.Path(path)
    loaded = jail.load_profile(profile)
    if isolation == "jail":
        jail_probe_client.require_jail(loaded)
    return EnvironmentProcess(jail.launch(loaded, isolation), loaded, path.stem).start(path.read_text(encoding="utf-8"))


class EnvironmentProcess:
    """One environment in one process. Not thread-safe."""

    def __init__(self, launched, profile, name):
        self.name = name
        self.sha256 = None
        self._launched = launched
        self._caps = profile.caps
        self._wall = profile.wall_seconds
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
        """Result of one request. Raises SandboxError for any error, the environment's own included."""
        outcome = self._exchange([json.dumps({"method": method, "params": params}, allow_nan=False)], single=True)[0]
        if "error" in outcome:
            error = outcome["error"]
            trace = error["traceback"]
            message = f"Environment {self.name}: {error['message']}" + (f"\n{trace}" if trace else "")
            raise SandboxError(f"Sandbox.{error['type']}", message, trace)
        return outcome["result"]

    def batch(self, requests):
        """Outcomes of the requests, in order; sent in as few lines as their sizes allow."""
        waiting = [(index, json.dumps(request, allow_nan=False)) for index, request in enumerate(requests)]
        outcomes = [None] * len(waiting)
        while waiting:
            taken, size = 0, ENVELOPE_BYTES
            for _, text in waiting[: self._caps["batchRequests"]]:
                size += len(text) + 1
                if taken and size > self._caps["lineBytes"]:
                    break
                taken += 1
            line, waiting = waiting[:taken], waiting[taken:]
            answers = self._exchange([text for _, text in line], single=False)
            # NotRun: the response line was full before this request's turn; it had no effect. The first one always
            # runs.
            again = [item for item, answer in zip(line, answers, strict=True) if _is_not_run(answer)]
            if len(again) == len(line):
                raise self._fail("Sandbox.BadOutput", "ran no request of a batch.")
            for (index, _), answer in zip(line, answers, strict=True):
                outcomes[index] = answer
            waiting = again + waiting
        return outcomes

    def close(self):
        """Ends the process: closes its request pipe, waits briefly, kills. Idempotent."""
        if self._launched is None:
            return
        launched, self._launched = self._launched, None
        self._failure = self._failure or SandboxError(
            "Sandbox.EnvironmentClosed", f"Environment {self.name} was closed."
        )
        _close(launched.requests)
        deadline = time.monotonic() + self._wall["close"]
        while not _has_ended(launched.pid) and time.monotonic() < deadline:
            time.sleep(0.002)
        launched.kill()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(launched.pid, 0)
        _close(launched.responses)
        _close(launched.logs)

    def log_tail(self):
        """The last bytes of stdout and stderr, as text."""
        return self._log.decode("utf-8", "replace")

    def _exchange(self, texts, single):
        """Sends one line and returns its outcomes, validated as far as the protocol goes."""
        if self._failure is not None:
            raise self._failure
        self._last_id += 1
        body = texts[0][1:-1] if single else f'"method": "batch", "params": {{"requests": [{",".join(texts)}]}}'
        line = f'{{"id": {self._last_id}, {body}}}\n'.encode()
        if len(line) > self._caps["lineBytes"]:
            cap = self._caps["lineBytes"]
            raise SandboxError(
                "Sandbox.BadRequest", f"A request of {len(line)} bytes is over the protocol's {cap} bytes a line."
            )
        wall = self._wall["start" if self.sha256 is None else "request"]
        answer = self._talk(line, time.monotonic() + wall, wall)
        outcomes = self._parse(answer, len(texts), single)
        if outcomes is None:
            raise self._fail(
                "Sandbox.BadOutput", f"answered with something the protocol does not allow: {answer[:200]!r}"
            )
        return outcomes

    def _talk(self, line, deadline, wall):
        """Writes a line and reads one, draining the logs meanwhile so that neither side waits for a full pipe."""
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
            if not ready and left <= 0:
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
            # The process is gone; the response pipe's end says so next.
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

    def _parse(self, line, count, single):
        """Outcomes, or None when the line is not an answer to the last request."""
        try:
            document = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, dict) or document.get("id") != self._last_id:
            return None
        if "error" in document:
            outcomes = [{"error": document["error"]}] * count
        elif single:
            outcomes = [{"result": document.get("result")}]
        else:
            result = document.get("result")
            outcomes = result.get("results") if isinstance(result, dict) else None
        valid = isinstance(outcomes, list) and len(outcomes) == count and all(map(_is_outcome, outcomes))
        return outcomes if valid else None

    def _died(self):
        _, status = os.waitpid(self._launched.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._drain_rest()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        words = self.log_tail().strip()[-400:]
        return self._fail("Sandbox.EnvironmentDied", f"process {how}." + (f" Its last words: {words}" if words else ""))

    def _drain_rest(self):
        os.set_blocking(self._launched.logs, False)
        with contextlib.suppress(BlockingIOError):
            while chunk := os.read(self._launched.logs, READ_BYTES):
                self._log = (self._log + chunk)[-self._caps["logTailBytes"] :]

    def _fail(self, kind, sentence):
        """Kills the process and returns the error for the caller to raise; later requests raise it again."""
        self._failure = SandboxError(kind, f"Environment {self.name} {sentence}")
        self._launched.kill()
        self.close()
        return self._failure


def _has_ended(pid):
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _close(descriptor):
    with contextlib.suppress(OSError):
        os.close(descriptor)


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def _is_not_run(outcome):
    return outcome.get("error", {}).get("type") == "NotRun"


def _is_outcome(outcome):
    if not isinstance(outcome, dict) or len(outcome) != 1:
        return False
    if "result" in outcome:
        return isinstance(outcome["result"], dict)
    error = outcome.get("error")
    return (
        isinstance(error, dict)
        and isinstance(error.get("type"), str)
        and isinstance(error.get("message"), str)
        and isinstance(error.get("traceback"), str | None)
    )
