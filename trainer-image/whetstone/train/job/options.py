"""The training options that a job file sets under `algorithm`, and the rules that their values obey.

`options.json` has each option's type, range, default and description. `npm run docs` writes it from the one table of
training options, contracts/config/training-options.ts, which also makes agent.yaml's section `training` and the table
in docs/reference/training.md. Nothing that stands in the table is repeated here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Any

from .errors import require

TABLE = Path(__file__).with_name("options.json")
KINDS = {"integer": int, "number": float, "boolean": bool, "string": str}


@dataclass(frozen=True)
class Option:
    """One row of the table: an option's Python type, its default, and its range.

    None stands for no bound; `choices` are the values of an option that is a word.
    """

    kind: type
    default: Any
    least: float | None
    most: float | None
    above: float | None
    below: float | None
    choices: tuple[str, ...] | None = None

    @classmethod
    def read(cls, schema: dict) -> Option:
        """Reads a row from its JSON Schema."""
        kind = KINDS[schema["type"]]
        least, above = schema.get("minimum"), schema.get("exclusiveMinimum")
        if kind is int and above is not None:
            least, above = above + 1, None
        return cls(
            kind,
            kind(schema["default"]),
            least,
            schema.get("maximum"),
            above,
            schema.get("exclusiveMaximum"),
            tuple(schema["enum"]) if "enum" in schema else None,
        )

    def allows(self, value: float | str) -> bool:
        """True when a value of the option's type lies in its range."""
        if self.choices is not None:
            return value in self.choices
        return (
            (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    @property
    def rule(self) -> str:
        """The range in words: 'from 1 to 512', 'above 0', '0 or more, below 1', 'one of dapo, grpo'."""
        if self.choices is not None:
            return f"one of {', '.join(self.choices)}"
        if self.least is not None and self.most is not None:
            return f"from {self.least} to {self.most}"
        words = [
            f"{self.least} or more" if self.least is not None else None,
            f"above {self.above}" if self.above is not None else None,
            f"at most {self.most}" if self.most is not None else None,
            f"below {self.below}" if self.below is not None else None,
        ]
        return ", ".join(word for word in words if word)


JOB_OPTIONS, ALGORITHM_OPTIONS = (
    {name: Option.read(row) for name, row in json.loads(TABLE.read_text())[part].items()}
    for part in ("job", "algorithm")
)
"""The rows by name: the options in the job itself, and those under `algorithm`."""


class _Checked:
    """What `Algorithm` has besides its fields."""

    def __post_init__(self) -> None:
        for name, row in ALGORITHM_OPTIONS.items():
            value = getattr(self, name)
            require(row.allows(value), f"algorithm.{name}", value, row.rule)
        require(
            self.warmupIterations <= self.iterations,
            "algorithm.warmupIterations",
            self.warmupIterations,
            f"at most algorithm.iterations, which is {self.iterations}",
        )

    @property
    def rollouts(self) -> int:
        """Rollouts of one iteration, without those of tasks that are drawn again."""
        return self.groups * self.rolloutsPerGroup

    @property
    def tasks(self) -> int:
        """Most tasks of a training: those of its iterations, those that may be drawn again, those of validation."""
        validation = self.validationTasks if self.validateEvery else 0
        return self.iterations * (self.groups + self.resampleGroups) + validation


Algorithm = make_dataclass(
    "Algorithm",
    [(name, row.kind, field(default=row.default)) for name, row in ALGORITHM_OPTIONS.items()],
    bases=(_Checked,),
    frozen=True,
)
"""GRPO's hyperparameters: a frozen dataclass with a field for each row of `ALGORITHM_OPTIONS`.

`rolloutsPerGroup` rollouts share a task and are normalised together. `groups` of them make an iteration, which is one
optimiser step. docs/explanations/training.md gives the reasons of each option.

Raises JobError for a value outside its option's range, or a warm-up that is longer than the training.
"""
