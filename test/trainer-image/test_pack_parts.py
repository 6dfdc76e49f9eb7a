"""Tier: unit. What a pack is made of: turns, cores, addresses of reports, exit codes."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from whetstone.train.cores import usable_cores
from whetstone.train.outcome import code_of_pack
from whetstone.train.reports import report_address
from whetstone.train.turns import Turnstile


@pytest.mark.parametrize("lanes", [1, 2])
def test_turns_go_round_and_as_many_at_a_time_as_there_are_lanes(lanes: int) -> None:
    turnstile, lock = Turnstile(lanes), threading.Lock()
    running: set[int] = set()
    most: list[int] = []
    order: list[int] = []

    def member(number: int, turn) -> None:
        for _ in range(5):
            assert turn.next(lambda: False)
            with lock:
                running.add(number)
                most.append(len(running))
                order.append(number)
            # So long that, were there room, all the others would be in as well.
            time.sleep(0.02)
            with lock:
                running.discard(number)
        turn.close()

    members = [threading.Thread(target=member, args=(n, turnstile.entrance(n))) for n in range(4)]
    for thread in members:
        thread.start()
    ended: list[int] = []
    while len(ended) < 4:
        ended += turnstile.wait()
    assert sorted(ended) == [0, 1, 2, 3]
    assert max(most) == lanes
    assert sorted(order) == sorted([0, 1, 2, 3] * 5)
    if lanes == 1:
        # In the order of asking: nobody a second time before the others, once all have asked.
        assert all(len(set(order[start : start + 4])) == 4 for start in range(8, 13))


def test_a_turn_of_a_member_that_died_goes_to_the_next() -> None:
    turnstile = Turnstile(1)
    first, second = turnstile.entrance(0), turnstile.entrance(1)
    granted = threading.Event()

    def follower() -> None:
        assert second.next(lambda: False)
        granted.set()
        second.close()

    def leader() -> None:
        assert first.next(lambda: False)
        threading.Thread(target=follower).start()
        assert not granted.wait(0.05)
        first.close()

    threading.Thread(target=leader).start()
    assert turnstile.wait() == [0]
    assert turnstile.wait() == [1]
    assert granted.is_set()


def test_who_is_told_to_stop_waits_for_no_turn() -> None:
    turnstile = Turnstile(1)
    assert not turnstile.entrance(0).next(lambda: True)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, None),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu.max": "50000 100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
    ],
)
def test_cores_are_those_of_the_mask_and_the_quota(files: dict[str, str], cores: int | None, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert usable_cores(tmp_path) == (cores or len(os.sched_getaffinity(0)))


def test_each_member_reports_to_its_own_address() -> None:
    listed = '{"/a": {"url": "http://x/a", "tokenFile": "/t"}, "/b": {"url": "http://x/b"}}'
    environment = {"WHET_REPORTS": listed, "WHET_REPORT_URL": "http://x/one"}
    assert report_address("/a", environment) == ("http://x/a", "/t")
    assert report_address("/b", environment) == ("http://x/b", None)
    assert report_address("/c", environment) == (None, None)
    assert report_address("/a", {"WHET_REPORT_URL": "http://x/one"}) == ("http://x/one", None)
    for broken in ("[]", "{", '{"/a": 3}', '{"/a": {"url": 3}}'):
        with pytest.raises(ValueError):
            report_address("/a", {"WHET_REPORTS": broken})


def test_exit_code_of_a_pack() -> None:
    assert code_of_pack([0, 0], stopped=True) == 0
    assert code_of_pack([0, 66, 65], stopped=False) == 66
    assert code_of_pack([0, 143, 65], stopped=True) == 143
    assert code_of_pack([0, 143, 65], stopped=False) == 65
    assert code_of_pack([0, 143], stopped=False) == 0
