"""The sampler over HTTP: a vLLM server, which several trainings may share."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from whetstone.tree_hash import tree_sha256

from .sampler import Sample, SampleRequest, SamplerInterrupted, SamplerRefused
from .vllm_server import AdapterMissing, Busy, Unreachable, VllmServer

if TYPE_CHECKING:
    from peft import PeftModel

Answer = TypeVar("Answer")
# Number of parallel requests; vLLM itself queues those for which it has no room.
CONCURRENCY = 256
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.25, 10.0
# A longer outage is reported.
REPORTED_AFTER_SECONDS = 3.0
# A server is broken if it answers but fails the same request, or loses the adapter, this many times in a row.
MOST_FAILURES = 20


class VllmSampler:
    """Samples with a server; each adapter has a name that no other adapter ever gets.

    A name consists of `prefix`, `session` and a hash of the weights. All adapters of this training have the prefix. The
    session belongs to this process, because a node that came back may still run another process of the same training.
    Adapters are written to `folder`/`session`, which the server must see under the same path. Files of earlier
    processes in `folder` are removed. `write(model, directory)` writes an adapter in PEFT's format, with the same bytes
    for the same weights. `leaves()` is true when the training has to end. `report` gets a sentence during an outage of
    the server, and None after it.

    The constructor waits for the server. It raises SamplerRefused if the server lacks a feature, and SamplerInterrupted
    if the training has to end.
    """

    reports_logprobs = True
    length_setting = "start the sampler with a larger --max-model-len"

    def __init__(
        self,
        server: VllmServer,
        prefix: str,
        session: str,
        folder: Path,
        write: Callable[[PeftModel, Path], None],
        leaves: Callable[[], bool],
        report: Callable[[str | None], None],
    ) -> None:
        self._server, self._write = server, write
        self._names, self._folder = f"{prefix}{session}-", folder / session
        self._leaves, self._report = leaves, report
        self._adapter: str | None = None
        self._rank = 0
        self._lock = threading.Lock()
        self._given_up = threading.Event()
        self._reported = False
        shutil.rmtree(folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._base = self._patiently(server.model)
        self.length = self._base.length
        # An earlier process of this training may have left adapters.
        for name in self._patiently(server.adapters):
            if name.startswith(prefix):
                self._patiently(lambda name=name: server.unload(name))

    def publish(self, model: PeftModel) -> str:
        """Writes the model's adapter and loads it under a new name; then the previous one is unloaded.

        The name contains the hash of the files, so the server's cached blocks for this name stay valid.
        """
        temporary = self._folder / ".adapter"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        self._write(model, temporary)
        name = f"{self._names}{tree_sha256(temporary)[:16]}"
        if name == self._adapter:
            return name
        directory = self._folder / name
        shutil.rmtree(directory, ignore_errors=True)
        temporary.rename(directory)
        before, self._adapter = self._adapter, name
        self._rank = model.peft_config["default"].r
        self._patiently(self._load)
        if before is not None:
            self._remove(before)
        return name

    def sample(self, requests: list[SampleRequest]) -> list[Sample]:
        """Completions of the requests, which are sent in parallel.

        If the server dies meanwhile, this method waits for it, loads the adapter again and repeats the unanswered
        requests.
        """
        if self._adapter is None:
            raise ValueError("no adapter is published yet")
        return self._complete(self._adapter, requests)

    def sample_base(self, requests: list[SampleRequest]) -> list[Sample]:
        """Completions of the base model, without an adapter."""
        return self._complete(self._base.name, requests)

    def close(self) -> None:
        """Unloads this training's adapter if the server answers, and removes its files."""
        if self._adapter is not None:
            self._remove(self._adapter)
            self._adapter = None
        shutil.rmtree(self._folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._folder.parent.rmdir()
        self._server.close()

    def _complete(self, model: str, requests: list[SampleRequest]) -> list[Sample]:
        fitting = [self._fitted(one) for one in requests]
        with ThreadPoolExecutor(max(1, min(CONCURRENCY, len(requests))), "sampler") as pool:
            asked = [pool.submit(self._patiently, lambda one=one: self._server.complete(model, one)) for one in fitting]
            try:
                return [one.result() for one in asked]
            except BaseException:
                self._given_up.set()
                for one in asked:
                    one.cancel()
                raise

    def _fitted(self, request: SampleRequest) -> SampleRequest:
        """The request, with its `max_tokens` cut to the length that the prompt leaves.

        Raises ValueError if nothing is left.
        """
        room = self.length - len(request.prompt)
        if not request.prompt or room < 1:
            raise ValueError(f"the prompt has {len(request.prompt)} tokens, the model takes 1 to {self.length - 1}")
        return dataclasses.replace(request, max_tokens=min(request.max_tokens, room))

    def _load(self) -> None:
        self._server.load(self._adapter, str(self._folder / self._adapter), self._rank)

    def _remove(self, name: str) -> None:
        """Unloads an adapter that is no longer needed. A server that is gone has lost it anyway."""
        with contextlib.suppress(Unreachable, SamplerRefused):
            self._server.unload(name)
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def _patiently(self, ask: Callable[[], Answer]) -> Answer:
        """The answer to a request; during an outage it waits for the end, however long that takes.

        A healthy server that fails the request MOST_FAILURES times in a row raises SamplerRefused.
        """
        start, wait, failures = time.monotonic(), FIRST_WAIT_SECONDS, 0
        while True:
            try:
                answer = ask()
            except Unreachable as error:
                why = str(error)
                if not isinstance(error, Busy):
                    failures = failures + 1 if self._server.is_healthy() else 0
            except AdapterMissing as error:
                if self._adapter is None:
                    raise SamplerRefused(f"the sampler at {self._server.url} changed its base model: {error}") from None
                why, failures = str(error), failures + 1
                with contextlib.suppress(Unreachable), self._lock:
                    self._load()
                    wait = FIRST_WAIT_SECONDS
            else:
                self._answered()
                return answer
            if failures >= MOST_FAILURES:
                raise SamplerRefused(
                    f"the sampler at {self._server.url} failed {failures} times in a row: {why}. Behind one address"
                    " there may be only one server, since each holds adapters of its own"
                )
            if time.monotonic() - start > REPORTED_AFTER_SECONDS:
                self._waiting(why)
            self._sleep(wait * random.uniform(0.75, 1.25))
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._given_up.wait(min(left, 0.5)) or self._leaves():
                raise SamplerInterrupted("the training ends while it waits for the sampler")

    def _waiting(self, why: str) -> None:
        with self._lock:
            if not self._reported:
                self._reported = True
                self._report(f"waiting for the sampler at {self._server.url} ({why})")

    def _answered(self) -> None:
        if self._reported:
            with self._lock:
                self._reported = False
                self._report(None)
