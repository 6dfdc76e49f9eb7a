"""The sampler in the trainer's own process: the engine, which runs plain Llama checkpoints."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from whetstone.engine import Adapter, Engine, NotFinite, Request, live_adapter

from .sampler import Sample, SampleRequest

if TYPE_CHECKING:
    from peft import PeftModel
# Completions of a call whose log-probabilities are kept as a proof.
PROVEN = 8


class EngineSampler:
    """Samples with the engine.

    Its samples have no log-probabilities for the update, because the engine computes the same as the trainer.
    """

    reports_logprobs = False
    length_setting = "choose a model with longer positions"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._adapter: str | None = None

    @property
    def length(self) -> int:
        """The engine's longest sequence, in tokens."""
        return self._engine.length

    def publish(self, model: PeftModel) -> str:
        """Puts the model's live adapter into the engine, instead of the previous one."""
        config = model.peft_config["default"]
        return self.put(live_adapter(model, config.lora_alpha / config.r))

    def put(self, adapter: Adapter) -> str:
        """Like `publish`, for an adapter of the engine."""
        # It is replaced even if it is the same adapter, so that the engine's cache depends only on the calls of `put`.
        if self._adapter is not None:
            self._engine.drop_adapter(self._adapter)
        self._adapter = _name(adapter)
        self._engine.put_adapter(self._adapter, adapter)
        return self._adapter

    def sample(self, requests: list[SampleRequest]) -> list[Sample]:
        """Completions of the requests. The same adapter, requests and order give the same tokens."""
        return self._run(requests, self._adapter)

    def sample_base(self, requests: list[SampleRequest]) -> list[Sample]:
        """The same for the base model, without an adapter."""
        return self._run(requests, None)

    def _run(self, requests: list[SampleRequest], adapter: str | None) -> list[Sample]:
        asked = [
            Request(
                one.prompt,
                one.max_tokens,
                seed=one.seed,
                temperature=one.temperature,
                adapter=adapter,
                stop=one.stop,
                top_logprobs=0 if place < PROVEN else None,
            )
            for place, one in enumerate(requests)
        ]
        self._engine.run(asked)
        failed = next((one for one in asked if one.error is not None), None)
        if failed is not None:
            raise NotFinite(failed.error)
        return [Sample(one.tokens, None, one.finish or "", one.logprobs or None) for one in asked]

    def close(self) -> None:
        """The engine has nothing to release."""


def _name(adapter: Adapter) -> str:
    digest = hashlib.sha256(repr(adapter.scale).encode())
    for key, factors in adapter.parts.items():
        digest.update(repr(key).encode())
        for factor in factors:
            digest.update(factor.detach().cpu().contiguous().numpy())
    return f"live@{digest.hexdigest()[:16]}"
