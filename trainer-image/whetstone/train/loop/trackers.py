"""Further places for each iteration's figures besides progress.jsonl: TensorBoard files, or a tracking service."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

from transformers import TrainerCallback
from transformers.integrations.integration_utils import rewrite_logs

from ..job import JobError
from ..output.notices import Notices

FOLDER = "tensorboard"
PACKAGES = {"tensorboard": "tensorboardX", "wandb": "wandb", "mlflow": "mlflow", "trackio": "trackio"}


def check_tracker(name: str) -> None:
    """Raises JobError if the package of a tracker is not installed at the trainer's place."""
    package = PACKAGES.get(name)
    if package and importlib.util.find_spec(package) is None:
        raise JobError(
            f"algorithm.reportTo is {name}, and the Python package {package} is not installed where the trainer runs;"
            " install it there, or set training.reportTo to none"
        )


class TensorBoardFiles(TrainerCallback):
    """Writes TensorBoard files into the training's folder, after `iteration` iterations that are already there.

    It writes in the loop itself. The library's SummaryWriter has a thread that dies if the disk is full, and then the
    code that waits for its queue hangs. If a file cannot be written, this is reported once and does not end the
    training.
    """

    def __init__(self, output: Path, iteration: int, notices: Notices) -> None:
        self._notices = notices
        self._writer = None
        self._open(output / FOLDER, iteration)

    def _open(self, folder: Path, iteration: int) -> None:
        from tensorboardX.event_file_writer import EventsWriter
        from tensorboardX.proto.event_pb2 import Event, SessionLog

        try:
            folder.mkdir(exist_ok=True)
            # A file's name contains the second of its start; a training that is resumed at once would overwrite it.
            self._writer = EventsWriter(str(folder / "events"), f".{iteration:06d}")
            # Hides an earlier process's events about iterations that are repeated now.
            start = SessionLog(status=SessionLog.START)
            self._writer.write_event(Event(wall_time=time.time(), step=iteration + 1, session_log=start))
        except OSError as error:
            self._give_up(error)

    def on_log(self, args, state, control, logs=None, **_):
        """Writes the figures of an iteration."""
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.summary import scalar

        if self._writer is None or not logs:
            return
        figures = {name: value for name, value in rewrite_logs(logs).items() if isinstance(value, (int, float))}
        try:
            for name, value in figures.items():
                event = Event(wall_time=time.time(), step=state.global_step, summary=scalar(name, value))
                self._writer.write_event(event)
            self._writer.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._writer = None
        self._notices.warn("tensorboard", f"TensorBoard's files cannot be written: {error}; training continues without")
