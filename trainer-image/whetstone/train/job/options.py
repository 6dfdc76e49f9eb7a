"""The training options that a job file sets under `algorithm`, and the rules for their values.

`options.json` has each option's type, range, default and description. `npm run docs` generates it from the only table
of training options, contracts/config/training-options.ts. That table also gives agent.yaml's section `training` and the
table in docs/reference/training.md. So this file repeats nothing of the table.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Any

from .errors import require

TABLE = Path(__file__).with_name("options.json")
KINDS = {"integer": int, "number": float, "boolean": bool, "string": str}
# Bounds of JSON Schema: the comparison for each bound, and the words for it.
BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.ge, "{} or more"),
    "exclusiveMinimum": (operator.gt, "above {}"),
    "maximum": (operator.le, "at most {}"),
    "exclusiveMaximum": (operator.lt, "below {}"),
}


@dataclass(frozen=True)
class Option:
    """One row of the table: an option's Python type, default and range.

    `bounds` has the bounds by their names in BOUNDS; `choices` has the values of an option that is a word, else None.
    """

    kind: type
    default: Any
    bounds: dict[str, float]
    choices: tuple[str, ...] | None

    @classmethod
    def read(cls, schema: dict) -> Option:
        """Reads a row from its JSON Schema."""
        kind = KINDS[schema["type"]]
        bounds = {name: schema[name] for name in BOUNDS if name in schema}
        if kind is int and "exclusiveMinimum" in bounds:
            bounds["minimum"] = bounds.pop("exclusiveMinimum") + 1
        return cls(kind, kind(schema["default"]), bounds, tuple(schema["enum"]) if "enum" in schema else None)

    def allows(self, value: float | str) -> bool:
        """True if a value of the option's type is in its range."""
        if self.choices is not None:
            return value in self.choices
        return all(BOUNDS[name][0](value, bound) for name, bound in self.bounds.items())

    @property
    def rule(self) -> str:
        """The range in words: 'from 1 to 512', 'above 0', '0 or more, below 1', 'one of dapo, grpo'."""
        if self.choices is not None:
            return f"one of {', '.join(self.choices)}"
        if self.bounds.keys() >= {"minimum", "maximum"}:
            return f"from {self.bounds['minimum']} to {self.bounds['maximum']}"
        return ", ".join(BOUNDS[name][1].format(bound) for name, bound in self.bounds.items())


JOB_OPTIONS, ALGORITHM_OPTIONS = (
    {name: Option.read(row) for name, row in json.loads(TABLE.read_text())[part].items()}
    for part in ("job", "algorithm")
)
"""The rows by name: the options in the job itself, and those under `algorithm`."""


class _Checked:
    """The checks and the derived numbers of `Algorithm`."""

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
        """Number of rollouts of one iteration, without rollouts of replacement tasks."""
        return self.groups * self.rolloutsPerGroup

    @property
    def tasks(self) -> int:
        """Largest number of synthetic tasks of a training: those of its iterations, and replacements."""
        return self.iterations * (self.groups + self.resampleGroups)


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
