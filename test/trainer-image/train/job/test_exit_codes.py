"""Tier: unit. The exit code of several jobs."""

from __future__ import annotations

from whetstone.train.job.exit_codes import combined_exit_code


def test_exit_code_of_several_jobs() -> None:
    assert combined_exit_code([0, 0], stopped=True) == 0
    assert combined_exit_code([0, 66, 65], stopped=False) == 66
    assert combined_exit_code([0, 143, 65], stopped=True) == 143
    assert combined_exit_code([0, 143, 65], stopped=False) == 65
    assert combined_exit_code([0, 143], stopped=False) == 0
