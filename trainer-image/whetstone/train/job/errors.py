"""The only error class of a job file."""

from __future__ import annotations

import json


class JobError(Exception):
    """A job file cannot be run. The message names the field, its value and the allowed values."""


def require(holds: bool, name: str, value: object, rule: str) -> None:
    """Raises JobError unless `holds`; `rule` completes the sentence 'it must be ...'."""
    if not holds:
        raise JobError(f"{name} is {json.dumps(value)}; it must be {rule}")
