"""Tier: unit. Compute slots: who may compute, in which order."""

from __future__ import annotations

import threading
import time

import pytest
from whetstone.train.multi.compute_slots import ComputeSlot, ComputeSlots, UpdateSlot


@pytest.mark.parametrize("count", [1, 2])
def test_slots_go_round_and_as_many_jobs_compute_as_there_are_slots(count: int) -> None:
    slots, lock = ComputeSlots(count), threading.Lock()
    running: set[int] = set()
    most: list[int] = []
    order: list[int] = []

    def job(number: int, slot: ComputeSlot) -> None:
        for _ in range(5):
            assert slot.next(lambda: False)
            with lock:
                running.add(number)
                most.append(len(running))
                order.append(number)
            # Long enough for all the others to come in, if there were a slot for them.
            time.sleep(0.02)
            with lock:
                running.discard(number)
        slot.close()

    jobs = [threading.Thread(target=job, args=(n, slots.join(n))) for n in range(4)]
    for thread in jobs:
        thread.start()
    ended: list[int] = []
    while len(ended) < 4:
        ended += slots.wait()
    assert sorted(ended) == [0, 1, 2, 3]
    assert max(most) == count
    assert sorted(order) == sorted([0, 1, 2, 3] * 5)
    if count == 1:
        # Slots go in the order of asking: once all have asked, no job gets a second one before the others.
        assert all(len(set(order[start : start + 4])) == 4 for start in range(8, 13))


def test_the_slot_of_a_job_that_died_goes_to_the_next() -> None:
    slots = ComputeSlots(1)
    first, second = slots.join(0), slots.join(1)
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
    assert slots.wait() == [0]
    assert slots.wait() == [1]
    assert granted.is_set()


def test_a_job_that_is_told_to_stop_waits_for_no_slot() -> None:
    slots = ComputeSlots(1)
    assert not slots.join(0).next(lambda: True)


def test_a_job_whose_rollouts_a_server_generates_gets_ready_without_a_slot() -> None:
    # Nobody hands out slots here.
    assert UpdateSlot(ComputeSlots(1).join(0)).next(lambda: False)
    assert not UpdateSlot(ComputeSlots(1).join(0)).next(lambda: True)


def test_while_a_server_generates_for_a_job_another_has_its_slot() -> None:
    slots = ComputeSlots(1)
    first, second = slots.join(0), slots.join(1)
    order: list[str] = []
    sampling, computed = threading.Event(), threading.Event()

    def by_server() -> None:
        assert first.next(lambda: False)
        with UpdateSlot(first).while_sampling(lambda: False):
            sampling.set()
            assert computed.wait(10)
            order.append("sampled")
        order.append("updated")
        first.close()

    def neighbour() -> None:
        assert sampling.wait(10)
        assert second.next(lambda: False)
        order.append("neighbour")
        computed.set()
        time.sleep(0.05)
        order.append("neighbour ends")
        second.close()

    for run in (by_server, neighbour):
        threading.Thread(target=run).start()
    ended: list[int] = []
    while len(ended) < 2:
        ended += slots.wait()
    assert order == ["neighbour", "sampled", "neighbour ends", "updated"]


def test_a_job_that_is_told_to_stop_while_a_server_generates_waits_for_no_slot() -> None:
    slots = ComputeSlots(1)
    first, second = slots.join(0), slots.join(1)
    ended: list[int] = []

    def job() -> None:
        assert first.next(lambda: False)
        holder = threading.Event()
        with UpdateSlot(first).while_sampling(lambda: True):
            threading.Thread(target=lambda: second.next(lambda: False) and holder.set()).start()
            assert holder.wait(10)
        first.close()

    thread = threading.Thread(target=job)
    thread.start()
    while not ended:
        ended += slots.wait()
    assert ended == [0]
    thread.join(10)
    second.close()
    assert slots.wait() == [1]
