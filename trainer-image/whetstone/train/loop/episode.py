"""One rollout as it grows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from whetstone.sampling import Sample

from ..loss.loss_mask import TurnSpan


@dataclass
class Episode:
    """A rollout of a task. `group` is the number of the task within the iteration, `number` that of the rollout within
    its group.

    `ids` are the tokens of prompt and completion, and `prompt` is the number of the former. `sampled`
    `[len(ids) - prompt]` is 1 for each token that the agent sampled, and `logprobs` of the same length has
    the sampler's log-probabilities of these (see `add_sample`); `proof` of the same length has those that are compared
    with the trainer's (sampler_proof.py), NaN where there are none. `spans` are its turns there. `shown` is the prompt
    with hints, which the engine reads in place of the plain one; empty when the episode has no hints. `raised` is the
    exception of the environment that ended the episode. `truncated`: a reply was cut at the limit of tokens, or there
    was no room for the next one. `failed_calls` counts turns that begin a call which is not well-formed; `calls` are
    the others, in order. `sampling_seed` is the seed of the first turn's sample, if it is given.
    """

    group: int
    number: int
    task_seed: int
    environment: int
    opening: list[dict] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    prompt: int = 0
    sampled: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    proof: list[float] = field(default_factory=list)
    spans: list[TurnSpan] = field(default_factory=list)
    turns: int = 0
    over: bool = False
    raised: str | None = None
    truncated: bool = False
    failed_calls: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)
    reward: float = 0.0
    sampling_seed: int | None = None

    def add_sample(self, sample: Sample) -> None:
        """Adds a turn of the agent.

        Its log-probabilities are NaN, which TRL reads as unknown, in two cases: the sampler gives none, or the episode
        has hints. With hints they belong to a prompt that the update does not see.
        """
        self.ids += sample.tokens
        self.sampled += [1] * len(sample.tokens)
        unknown = sample.logprobs is None or self.shown
        self.logprobs += [math.nan] * len(sample.tokens) if unknown else sample.logprobs
        self.proof += sample.logprobs or sample.proof or [math.nan] * len(sample.tokens)
        self.turns += 1

    def add_given(self, tokens: list[int]) -> None:
        """Adds tokens that the agent did not sample: answers of the environment, marks of the chat template."""
        self.ids += tokens
        self.sampled += [0] * len(tokens)
        self.logprobs += [0.0] * len(tokens)
        self.proof += [math.nan] * len(tokens)

    @property
    def read(self) -> list[int]:
        """The tokens that the engine reads: `ids`, with the hints if the episode has them."""
        return self.shown + self.ids[self.prompt :] if self.shown else self.ids


def unaided(episodes: list[Episode]) -> list[Episode]:
    """The episodes without hints, whose rewards show the policy's own skill; if all have hints, all episodes."""
    return [episode for episode in episodes if not episode.shown] or episodes
