"""The interface between rollouts and the source of their tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from peft import PeftModel


class SamplerRefused(Exception):
    """The sampler cannot serve this training, or keeps failing although it answers.

    The message says what to change, with the flag or variable; if only the server knows that, it quotes the server.
    """


class SamplerInterrupted(Exception):
    """The training has to end while it waits for the sampler."""


@dataclass(frozen=True)
class SampleRequest:
    """One completion to sample.

    `prompt` are token ids. `temperature` 0 is greedy. A completion ends with one of the token ids `stop`, at
    `max_tokens`, or at the sampler's length.
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
    """Samples completions with the last published adapter.

    `length` is the longest sequence in tokens, including the prompt; `length_setting` says how to get a longer one.
    `reports_logprobs` says whether samples have their own log-probabilities.
    """

    length: int
    length_setting: str
    reports_logprobs: bool

    def publish(self, model: PeftModel) -> str:
        """Makes the model's adapter the source of samples.

        Returns its name, which contains the hash of its weights: another adapter never gets the same name.
        """

    def sample(self, requests: list[SampleRequest]) -> list[Sample]:
        """Completions of the requests, in order. Raises SamplerRefused and SamplerInterrupted."""

    def sample_base(self, requests: list[SampleRequest]) -> list[Sample]:
        """Completions of the base model, without an adapter. Raises the errors of `sample`."""

    def close(self) -> None:
        """Releases the sampler's resources for this training. Idempotent."""
