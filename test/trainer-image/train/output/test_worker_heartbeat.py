"""Tier: unit. A job that no worker attends to any more."""

from __future__ import annotations

import os
from pathlib import Path

from whetstone.train.output.worker_heartbeat import ATTENDED, WorkerHeartbeat


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_it_lapses_when_nobody_touches_the_file(tmp_path: Path) -> None:
    clock = Clock()
    heartbeat = WorkerHeartbeat(tmp_path, clock)
    # The time of another machine, days ago: only its changes count.
    (tmp_path / ATTENDED).touch()
    os.utime(tmp_path / ATTENDED, (1, 1))
    assert not heartbeat.lapsed
    clock.seconds = 3_600
    assert not heartbeat.lapsed
    clock.seconds = 3_601
    assert heartbeat.lapsed
    os.utime(tmp_path / ATTENDED, (2, 2))
    assert not heartbeat.lapsed


def test_the_job_of_a_worker_without_the_file_never_lapses(tmp_path: Path) -> None:
    clock = Clock()
    heartbeat = WorkerHeartbeat(tmp_path, clock)
    clock.seconds = 1e9
    assert not heartbeat.lapsed
