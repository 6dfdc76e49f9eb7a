"""Runs one part in a process of its own and takes down its rows as they come."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

CHILD = pathlib.Path(__file__).resolve().parent / "child.py"
RAN, NOT_RUN = "ran", "not run"


@dataclasses.dataclass(frozen=True)
class Part:
    """The module whose `cases` are tried, the most seconds they get together, and settings of this part alone."""

    module: str
    seconds: float
    settings: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Outcome:
    """What became of a part. `reason` says why none of it ran; each row has a reason of its own."""

    rows: list[dict] = dataclasses.field(default_factory=list)
    reason: str | None = None
    seconds: float = 0.0

    @property
    def state(self) -> str:
        """'ran' when any of its rows did."""
        return RAN if any(row["state"] == RAN for row in self.rows) else NOT_RUN

    def as_json(self) -> dict:
        """As the report has it."""
        return {"state": self.state, "reason": self.reason, "seconds": round(self.seconds, 1), "rows": self.rows}

    def summary(self) -> str:
        """A few words for people."""
        if self.reason:
            return f"{NOT_RUN}: {self.reason}"
        ran = sum(row["state"] == RAN for row in self.rows)
        return f"{ran} of {len(self.rows)} cases ran, {self.seconds:.0f} s"


def run_part(
    name: str,
    part: Part,
    settings: dict,
    environment: dict[str, str],
    limit: float,
    leave: Callable[[Outcome], None],
) -> Outcome:
    """Tries all cases of a part in at most `limit` seconds, and calls `leave` after each.

    A process that ends or hangs in a case costs that case alone: another one tries the rest.
    """
    outcome, started = Outcome(), time.monotonic()
    cases: list[str] = []

    def take(row: dict) -> None:
        outcome.rows.append(row)
        outcome.seconds = time.monotonic() - started
        print(f"{name}: {json.dumps(row)}", flush=True)
        leave(outcome)

    def take_untried(case: str, reason: str) -> None:
        take({"case": case, "state": NOT_RUN, "reason": reason})

    while True:
        tried = [row["case"] for row in outcome.rows]
        rest = limit - (time.monotonic() - started)
        whole = {**settings, **part.settings, "module": part.module, "tried": tried, "deadline": time.time() + rest}
        current, ended = _run_child(whole, environment, rest, cases, take)
        if ended is None:
            break
        if current is None:
            # It ended outside the cases, and would the next time, too.
            outcome.reason = ended if not outcome.rows else None
            break
        take_untried(current, ended)
        if limit - (time.monotonic() - started) < 1:
            ended = f"time: the {limit:.0f} s of this part are over"
            break
    for case in cases:
        if case not in [row["case"] for row in outcome.rows]:
            take_untried(case, ended or "it was not reached")
    outcome.seconds = time.monotonic() - started
    return outcome


def _run_child(
    settings: dict, environment: dict[str, str], limit: float, cases: list[str], take: Callable[[dict], None]
) -> tuple[str | None, str | None]:
    """Runs the process until it ends or its time is over. Sets `cases` to the names of all, and takes each row.

    Returns the case that was being tried, if any, and why the process did not get to its end; None when it did.
    """
    reader, writer = os.pipe()
    current, over, finished, buffered = None, False, False, b""
    deadline = time.monotonic() + limit
    with tempfile.TemporaryFile() as errors, open(reader, "rb", buffering=0) as pipe:
        command = [sys.executable, str(CHILD), str(writer), json.dumps(settings)]
        process = subprocess.Popen(
            command, env=environment, stdout=errors, stderr=errors, pass_fds=[writer], start_new_session=True
        )
        os.close(writer)
        try:
            while True:
                ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
                if not ready:
                    over = True
                    break
                data = pipe.read(65536)
                if not data:
                    break
                *lines, buffered = (buffered + data).split(b"\n")
                for said in map(json.loads, lines):
                    if "begins" in said:
                        current = said["begins"]
                    elif "finished" in said:
                        finished = True
                    elif "broken" in said:
                        return None, said["broken"]
                    elif "cases" in said:
                        cases[:] = said["cases"]
                    else:
                        current = None
                        take(said)
        finally:
            # Whatever the part has started goes with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        if finished:
            return None, None
        if over:
            return current, f"time: more than {limit:.0f} s"
        errors.seek(0)
        words = [line.strip() for line in errors.read().decode(errors="replace").splitlines() if line.strip()]
        return current, f"its process ended with {code}{': ' + words[-1][:300] if words else ''}"
