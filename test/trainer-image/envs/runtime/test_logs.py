"""Tier: unit. The bounded streams of an environment's process."""

from __future__ import annotations

import os

import pytest
from whetstone.envs.runtime import LOG_BYTES
from whetstone.envs.runtime.logs import BoundedLog


@pytest.mark.parametrize("pad", [0, 1, 2, 3])
def test_a_log_ends_with_a_whole_character(tmp_path, pad):
    path = tmp_path / "log"
    with path.open("wb") as file:
        log = BoundedLog(file.fileno())
        log.write("x" * pad)
        log.write("😀" * LOG_BYTES)
        log.write("y")
    text = path.read_bytes().decode()
    assert LOG_BYTES - 4 < os.path.getsize(path) <= LOG_BYTES
    assert set(text) <= {"x", "😀"}
