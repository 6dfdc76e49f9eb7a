"""Tier: unit. The trainer's options against the one table of training options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import whetstone.train
from whetstone.train.job import Algorithm
from whetstone.train.job.options import ALGORITHM_OPTIONS, Option

TRAINER = Path(whetstone.train.__file__).parent


def test_every_option_is_used() -> None:
    code = "\n".join(path.read_text() for part in ("loop", "loss", "watch") for path in (TRAINER / part).glob("*.py"))
    unused = [name for name in ALGORITHM_OPTIONS if not re.search(rf"algorithm\.{name}\b", code)]
    assert unused == [], f"the trainer does not read algorithm.{unused[0]}: use it, or drop its row"


def test_defaults_are_those_of_agent_yaml() -> None:
    algorithm = Algorithm()
    assert (algorithm.learningRate, algorithm.maxTurns, algorithm.maxCompletionTokens) == (1e-5, 12, 512)
    # The paper's 640 rollouts.
    assert algorithm.rollouts * algorithm.iterations == 640


@pytest.mark.parametrize(
    ("schema", "rule", "allowed", "refused"),
    [
        ({"type": "integer", "exclusiveMinimum": 0}, "1 or more", [1, 9], [0]),
        ({"type": "integer", "minimum": 2, "maximum": 4}, "from 2 to 4", [2, 4], [1, 5]),
        ({"type": "number", "exclusiveMinimum": 0}, "above 0", [0.1], [0.0]),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, "0 or more, below 1", [0.0, 0.9], [-0.1, 1.0]),
    ],
)
def test_ranges(schema: dict, rule: str, allowed: list[float], refused: list[float]) -> None:
    row = Option.read({**schema, "default": 1})
    assert row.rule == rule
    assert all(row.allows(value) for value in allowed)
    assert not any(row.allows(value) for value in refused)


def test_words() -> None:
    row = Option.read({"type": "string", "enum": ["dapo", "grpo"], "default": "dapo"})
    assert (row.kind, row.default, row.rule) == (str, "dapo", "one of dapo, grpo")
    assert row.allows("grpo")
    assert not row.allows("ppo")
