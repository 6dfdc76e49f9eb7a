"""A taskset for tests, in the form that `vf-init --add-tool` writes: sums, with a tool that adds."""

from sums_v1.taskset import SumsTaskset

__all__ = ["SumsTaskset"]
