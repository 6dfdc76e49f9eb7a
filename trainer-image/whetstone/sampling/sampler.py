"""The interface between rollouts and the source of their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from peft import PeftModel


class SamplerRefused(Exception):
    """The sampler cannot serve this training, or keeps failing though it answers.

    The message says what to change, with the flag or variable; where only the server knows, it has the server's words.
    """


class SamplerInterrupted(Exception):
    """The training has to end while it waits for the sampler."""


@dataclass(frozen=True)
class SampleRequest:
    """One completion to sample.

    `prompt` are token ids. `temperature` 0 is greedy. The token ids `stop` end a completion, as do `max_tokens` and the
    sampler's length.
    """

    prompt: list[int]
    max_tokens: int
    temperature: float
    seed: int
    stop: tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """A sampled completion.

    `tokens` end with the stop token when `finish` is 'stop'; otherwise `finish` is 'length'. `logprobs` `[tokens]` are
    the log-probabilities, in nats, with which the tokens were drawn, that is at the request's temperature. None: the
    sampler computes the same as the trainer, so the trainer's own log-probabilities are used. Some of its samples have
    `proof` then: log-probabilities before the temperature, which show that the sampler holds the right adapter.
    """

    tokens: list[int]
    logprobs: list[float] | None
    finish: str
    proof: list[float] | None = None


class Sampler(Protocol):
    """Samples completions with the adapter that was published last.

    `length` is the longest sequence, in tokens, prompt included; `length_setting` says how to get a longer one.
    `reports_logprobs` says whether samples have log-probabilities of their own.
    """

    length: int
    length_setting: str
    reports_logprobs: bool

    def publish(self, model: PeftModel) -> str:
        """Makes samples come from the model's adapter.

        Returns its name, which carries the hash of its weights: another adapter never gets the same name.
        """

    def sample(self, requests: list[SampleRequest]) -> list[Sample]:
        """Completions of the requests, in order. Raises SamplerRefused and SamplerInterrupted."""

    def close(self) -> None:
        """Releases the sampler's resources for this training. Idempotent."""
