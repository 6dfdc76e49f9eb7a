"""Tells the worker how training goes, if there is one to tell. News only: whatever is lost here is in progress.jsonl."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import urllib.request
from pathlib import Path

TIMEOUT_SECONDS = 3.0


def report_address(output_dir: str, environment: dict[str, str]) -> tuple[str | None, str | None]:
    """Address and token file of a job's reports, by its output directory.

    Members of a pack have theirs in `WHET_REPORTS`, a JSON object `outputDir -> {"url", "tokenFile"}`; without it,
    `WHET_REPORT_URL` and `WHET_REPORT_TOKEN_FILE` are the only job's. Raises ValueError for a malformed `WHET_REPORTS`.
    """
    listed = environment.get("WHET_REPORTS")
    if listed is None:
        return environment.get("WHET_REPORT_URL"), environment.get("WHET_REPORT_TOKEN_FILE")
    addresses = json.loads(listed)
    if not isinstance(addresses, dict):
        raise ValueError("WHET_REPORTS must be a JSON object: output directory -> {url, tokenFile}")
    entry = addresses.get(output_dir, {})
    if not isinstance(entry, dict) or not all(isinstance(value, str) for value in entry.values()):
        raise ValueError(f"WHET_REPORTS: the entry of {output_dir} must be an object with the texts url and tokenFile")
    return entry.get("url"), entry.get("tokenFile")


class Reporter:
    """Posts the newest iteration from a thread of its own, so that training never waits.

    Where to is in the environment (`report_address`); nowhere: nothing is sent. The token is read from its file each
    time, since a cluster renews it there.
    """

    def __init__(self, output_dir: str, environment: dict[str, str] | None = None) -> None:
        self._url, self._token_file = report_address(
            output_dir, dict(os.environ) if environment is None else environment
        )
        self._ready = threading.Event()
        self._newest: dict | None = None
        self._sequence = 0
        if self._url:
            threading.Thread(target=self._work, name="reports", daemon=True).start()

    def tell(self, line: dict, seconds_left: float | None) -> None:
        """Leaves a progress line for the thread; one that was not sent yet is replaced."""
        if not self._url:
            return
        names = ("iteration", "iterations", "reward", "kl", "completionTokens")
        self._newest = {name: line[name] for name in names} | {"secondsLeft": seconds_left}
        self._ready.set()

    def _work(self) -> None:
        while True:
            self._ready.wait()
            self._ready.clear()
            # Refused, unreachable, slow: the next iteration is newer anyway.
            with contextlib.suppress(OSError, ValueError):
                self._post(self._newest)

    def _post(self, report: dict) -> None:
        # Larger than any that an earlier pod of the job sent: iterations only grow, and the clock with them.
        self._sequence = max(self._sequence + 1, int(time.time() * 1000))
        token = Path(self._token_file).read_text().strip() if self._token_file else ""
        request = urllib.request.Request(
            self._url,
            data=json.dumps(report | {"sequence": self._sequence}).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):
            pass
