"""The tokens of captured episodes, as trainers read them.

A run with `collect.tokens` writes them beside its trajectories (docs/reference/protocols.md, section 9). Each id is one
that the model read or sampled: nothing was tokenized again.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class CapturedRow:
    """A sequence of tokens of an episode, which may have several.

    `ids` int32 `[tokens]`; `mask` bool `[tokens]`: sampled by the model; `logprobs` float32 `[tokens]`, in nats, as the
    server says them (some servers: before the temperature), 0 where nothing was sampled. `episode` is the id of the
    trajectory, `reward` that of the whole episode. Raises ValueError for parts that do not fit together.
    """

    ids: np.ndarray
    mask: np.ndarray
    logprobs: np.ndarray
    episode: str
    seed: int
    trial: int
    model: str
    temperature: float
    reward: float

    def __post_init__(self) -> None:
        if not len(self.ids) == len(self.mask) == len(self.logprobs) or not self.mask.any() or self.mask[0]:
            raise ValueError(f"a row of episode {self.episode} has no prompt, no answer, or parts of different lengths")
        if (self.ids < 0).any() or not np.isfinite(self.logprobs).all():
            raise ValueError(
                f"a row of episode {self.episode} has an id below 0, or a log-probability that is no number"
            )


def captured_rows(path: Path) -> Iterator[CapturedRow]:
    """The rows of an artifact of tokens, in the order of the file. Raises ValueError for a line that is none."""
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                episode = json.loads(line)
                named = {name: episode[name] for name in ("seed", "trial", "model", "temperature", "reward")}
                for row in episode["rows"]:
                    yield CapturedRow(*_unpacked(row), episode=episode["id"], **named)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}: {error!r}") from None


def _unpacked(row: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ids = np.frombuffer(base64.b64decode(row["ids"], validate=True), "<i4")
    sampled = np.frombuffer(base64.b64decode(row["logprobs"], validate=True), "<f4")
    mask = np.zeros(len(ids), bool)
    end = 0
    for start, count in row["sampled"]:
        if not end <= start < start + count <= len(ids):
            raise ValueError(f"an answer of {count} tokens at {start} in a row of {len(ids)}")
        end = start + count
        mask[start:end] = True
    if len(sampled) != mask.sum():
        raise ValueError(f"{len(sampled)} log-probabilities of {mask.sum()} sampled tokens")
    logprobs = np.zeros(len(ids), np.float32)
    logprobs[mask] = sampled
    return ids, mask, logprobs
