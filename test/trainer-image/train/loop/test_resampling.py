"""Tier: integration. Tasks that are drawn again, and the trackers of a training's figures."""

from __future__ import annotations

import errno
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.steps import adapt, open_rollouts
from fixtures.trainer import LETTERS, make_job
from fixtures.training import train
from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event as TensorBoardEvent
from whetstone.train.job import JobError, parse_job
from whetstone.train.loop.rollouts import Rollouts


def reward_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives even tasks the reward 0.5, and of odd ones every second rollout 1."""

    score = Rollouts._score

    def scored(self, episodes):
        score(self, episodes)
        for episode in episodes:
            episode.reward = 0.5 if episode.task_seed % 2 == 0 else float(episode.number % 2)

    monkeypatch.setattr(Rollouts, "_score", scored)


@pytest.mark.parametrize(
    ("most", "seeds", "drawn"),
    [
        (0, [100, 101], 2),
        # One further task (104), which is constant as well, so the first one stays.
        (1, [100, 101], 3),
        # The second further task (105) is not.
        (3, [105, 101], 4),
    ],
)
def test_constant_groups_are_replaced_by_further_tasks(
    most: int,
    seeds: list[int],
    drawn: int,
    tiny_dir: Path,
    adapter_dirs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reward_by_number(monkeypatch)
    with open_rollouts(tiny_dir, tmp_path, [LETTERS], iterations=2, resampleGroups=most) as rollouts:
        adapt(rollouts, tiny_dir, adapter_dirs[0])
        found = rollouts.collect(0)
        again = rollouts.collect(0)
    assert [(one.group, one.number, one.task_seed) for one in found.episodes] == [
        (group, number, seed) for group, seed in enumerate(seeds) for number in range(4)
    ]
    assert len(found.drawn) == 4 * drawn
    assert again == found


def test_no_task_is_drawn_by_two_iterations(
    tiny_dir: Path, adapter_dirs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = Rollouts._score

    def all_alike(self, episodes):
        score(self, episodes)
        for episode in episodes:
            episode.reward = 1.0

    monkeypatch.setattr(Rollouts, "_score", all_alike)
    with open_rollouts(tiny_dir, tmp_path, [LETTERS], iterations=2, resampleGroups=3) as rollouts:
        adapt(rollouts, tiny_dir, adapter_dirs[0])
        seeds = [{one.task_seed for one in rollouts.collect(iteration).drawn} for iteration in (0, 1)]
    assert seeds == [{100, 101, 104, 105, 106}, {102, 103, 107, 108, 109}]


def read_events(file: Path) -> Iterator[TensorBoardEvent]:
    """Events of a TensorBoard file: each record is its length, 4 bytes, the event, 4 bytes."""
    content, place = file.read_bytes(), 0
    while place < len(content):
        (length,) = struct.unpack_from("<Q", content, place)
        yield TensorBoardEvent.FromString(content[place + 12 : place + 12 + length])
        place += 16 + length


def test_figures_of_each_iteration_go_to_tensorboard(tiny_dir: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    job = make_job(tiny_dir, output, reportTo="tensorboard")
    assert not train(job, 3)
    assert train(job)
    seen: dict[str, list[int]] = {}
    for file in sorted((output / "tensorboard").iterdir()):
        for event in read_events(file):
            for value in event.summary.value:
                seen.setdefault(value.tag, []).append(event.step)
    for tag in ("train/reward", "train/kl", "train/grad_norm", "train/rollouts/truncatedShare"):
        assert sorted(set(seen[tag])) == [1, 2, 3, 4, 5, 6]


def test_a_disk_too_full_for_tensorboard_ends_no_training(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def full(self):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(EventsWriter, "flush", full)
    assert train(make_job(tiny_dir, tmp_path / "out", reportTo="tensorboard"))
    assert capsys.readouterr().err.count("TensorBoard's files cannot be written: [Errno 28]") == 1


def test_a_tracker_that_is_not_installed_is_named(tiny_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="algorithm.reportTo is mlflow, and the Python package mlflow is not installed"):
        train(make_job(tiny_dir, tmp_path / "out", reportTo="mlflow"))


def test_where_figures_are_shown_is_not_in_the_hash_of_a_job(tiny_dir: Path, tmp_path: Path) -> None:
    hashes = {
        parse_job(json.dumps(make_job(tiny_dir, tmp_path, reportTo=name))).sha256 for name in ("none", "tensorboard")
    }
    assert len(hashes) == 1
