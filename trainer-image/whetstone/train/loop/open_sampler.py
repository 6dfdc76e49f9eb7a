"""The sampler of a job."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from peft import PeftModel

from whetstone.engine import Engine
from whetstone.sampling import EngineSampler, Sampler, SamplerRefused
from whetstone.sampling.managed_server import GPU_SHARE, ManagedServer
from whetstone.sampling.vllm_command import ServerNeeds
from whetstone.sampling.vllm_sampler import CONCURRENCY, VllmSampler
from whetstone.sampling.vllm_server import VllmServer

from ..job import TrainingJob
from ..output.disk import disk_full_named
from ..output.result import write_adapter
from ..output.store import OutputStore
from .base_model import BaseModel

# The file with the API key of a vLLM server, if it requires one.
AUTH_FILE = "WHET_SAMPLER_AUTH_FILE"


@contextlib.contextmanager
def open_sampler(
    store: OutputStore,
    base: BaseModel,
    leaves: Callable[[], bool],
    server: ManagedServer | None = None,
) -> Iterator[Sampler]:
    """The sampler of a directory's job; it is closed afterwards. `leaves()` says that the training has to end.

    `server` is the managed server, which several jobs may share. Raises SamplerRefused, SamplerInterrupted.
    """
    job = store.job
    if job.sampler == "engine":
        assert base.weights is not None
        yield EngineSampler(Engine(base.weights, job.algorithm.rollouts, exact=False))
        return

    def write(model: PeftModel, directory: Path) -> None:
        with disk_full_named(store.root, "an adapter for the sampler"):
            write_adapter(job, model, directory)

    def has_to_end() -> bool:
        if server is not None and server.ended:
            raise SamplerRefused(f"the managed vLLM does not start; its log is {server.log}. {server.last_words()}")
        return leaves()

    url, key = (server.url, server.key) if server is not None else (job.samplerUrl, _key())
    with contextlib.ExitStack() as open_things:
        open_things.callback(store.clear_waiting)
        sampler = VllmSampler(
            VllmServer(url, CONCURRENCY, key, own=server is not None),
            f"whet-{job.sha256[:12]}-",
            store.session,
            store.root / "sampler",
            write,
            has_to_end,
            store.report_waiting,
        )
        if server is not None:
            sampler.length_setting = "raise training.maxModelLength"
        open_things.callback(sampler.close)
        yield sampler


def _key() -> str | None:
    named = os.environ.get(AUTH_FILE)
    if not named:
        return None
    try:
        return Path(named).read_text().strip()
    except OSError as error:
        raise SamplerRefused(f"{AUTH_FILE} is {named}, which cannot be read: {error.strerror}") from None


def managed_server(jobs: list[TrainingJob], folder: Path) -> contextlib.closing[ManagedServer]:
    """A vLLM server for these jobs; it is ended afterwards. Its log is in `folder`. Raises SamplerRefused."""
    rank = max(job.algorithm.rank for job in jobs)
    # A training loads its next adapter before it unloads the last one.
    adapters, length = len(jobs), jobs[0].maxModelLength or None
    needs = ServerNeeds(jobs[0].baseModel, rank, adapters, 2 * adapters, length, torch.cuda.is_available(), GPU_SHARE)
    return contextlib.closing(ManagedServer(needs, folder / "sampler.log", dict(os.environ)))
