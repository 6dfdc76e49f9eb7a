"""Reports of the newest iteration to the worker. A report may be lost, because progress.jsonl has every iteration."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path

# Time limit of one post.
TIMEOUT_SECONDS = 3.0


def report_url(output_dir: str, environment: Mapping[str, str]) -> str | None:
    """URL of a job's reports: its entry in `WHET_REPORTS`, a JSON object `outputDir -> URL`; None: it sends none.

    Raises ValueError for a malformed `WHET_REPORTS`.
    """
    urls = json.loads(environment.get("WHET_REPORTS", "{}"))
    if not isinstance(urls, dict) or not all(isinstance(url, str) for url in urls.values()):
        raise ValueError("it must be a JSON object: output directory -> URL")
    return urls.get(output_dir)


class Reporter:
    """Posts the newest iteration from a separate thread, so that training never waits for the network.

    Without a `report_url` nothing is sent. The token is read from the file `WHET_REPORT_TOKEN_FILE` each time, because
    a cluster renews it there.
    """

    def __init__(self, output_dir: str) -> None:
        self._url = report_url(output_dir, os.environ)
        self._token_file = os.environ.get("WHET_REPORT_TOKEN_FILE")
        self._ready = threading.Event()
        self._newest: dict | None = None
        self._sequence = 0
        if self._url:
            threading.Thread(target=self._work, name="reports", daemon=True).start()

    def report(self, line: dict, seconds_left: float | None) -> None:
        """Gives a progress line to the thread; it replaces a line that was not sent yet.

        `seconds_left` is the remaining time.
        """
        if not self._url:
            return
        names = ("iteration", "iterations", "reward", "kl", "completionTokens")
        self._newest = {name: line[name] for name in names} | {"secondsLeft": seconds_left}
        self._ready.set()

    def _work(self) -> None:
        while True:
            self._ready.wait()
            self._ready.clear()
            # A failed report is not repeated, because the next iteration is newer anyway.
            with contextlib.suppress(OSError, ValueError):
                self._post(self._newest)

    def _post(self, report: dict) -> None:
        # The number comes from the clock, so that it exceeds all sequence numbers from an earlier pod of the job.
        self._sequence = max(self._sequence + 1, int(time.time() * 1000))
        token = Path(self._token_file).read_text().strip() if self._token_file else ""
        request = urllib.request.Request(
            self._url,
            data=json.dumps(report | {"sequence": self._sequence}).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
        )
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):
            pass
