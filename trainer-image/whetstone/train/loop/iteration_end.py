"""The steps after each iteration: progress line, stopping rule, report, checkpoint, and the wait for a compute slot."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from transformers import TrainerCallback

from ..loss.calibrated_reward import check_calibrated
from ..loss.divergence import check_reward
from ..output.disk import DiskFull
from ..output.reports import Reporter
from ..output.store import OutputStore
from .compute_turn import ComputeTurn
from .episode import unaided
from .iteration_record import rollout_figures, write_samples

if TYPE_CHECKING:
    from .adapter_trainer import AdapterTrainer


class IterationEnd(TrainerCallback):
    """The steps after each optimiser step. `lines` are the progress lines so far; on_log adds to them.

    `leaves()` is true when this process has to end.
    """

    def __init__(
        self,
        store: OutputStore,
        trainer: AdapterTrainer,
        lines: list[dict],
        leaves: Callable[[], bool],
        turn: ComputeTurn,
    ) -> None:
        self._job, self._store, self._trainer, self._lines = store.job, store, trainer, lines
        self._leaves, self._turn = leaves, turn
        self._reporter = Reporter(store.job.outputDir)
        self._elapsed_before = lines[-1]["secondsElapsed"] if lines else 0.0
        self._start = self._step_start = self._last_end = time.perf_counter()

    def on_train_begin(self, args, state, control, **_):
        self._start = self._last_end = time.perf_counter()

    def on_step_begin(self, args, state, control, **_):
        self._step_start = time.perf_counter()

    def on_log(self, args, state, control, logs=None, **_):
        """Transformers calls it once an iteration, after the optimiser's step, with the gradient's norm.

        Raises Diverged if the adapter is not finite or the reward has collapsed, and EnvironmentDiffers if the first
        rewards differ from the calibration's.
        """
        if not logs or "grad_norm" not in logs or state.global_step <= len(self._lines):
            return
        now = time.perf_counter()
        trainer, algorithm, environments = self._trainer, self._job.algorithm, len(self._job.environments)
        trainer.check_adapter()
        episodes = trainer.drawn
        rewards = torch.tensor([episode.reward for episode in unaided(episodes)], dtype=torch.float64)
        line = {
            "iteration": state.global_step,
            "iterations": algorithm.iterations,
            "reward": rewards.mean().item(),
            "rewardStd": rewards.std(correction=0).item(),
            "loss": trainer.step_loss,
            "kl": trainer.step_kl,
            "gradNorm": float(logs["grad_norm"]),
            "completionTokens": sum(sum(episode.sampled) for episode in episodes),
            **rollout_figures(episodes),
            **trainer.step_figures,
            "secondsGeneration": round(trainer.seconds_generation, 4),
            "secondsUpdate": round(now - self._step_start - trainer.seconds_generation - trainer.seconds_waiting, 4),
            "secondsElapsed": round(self._elapsed_before + now - self._start, 4),
        }
        if trainer.step_mismatch is not None:
            line["samplerMismatch"] = trainer.step_mismatch
        if algorithm.resampleGroups:
            line["resampledGroups"] = (len(episodes) - len(trainer.episodes)) // algorithm.rolloutsPerGroup
        is_probed = trainer.watch.is_due(state.global_step)
        if is_probed:
            probe = trainer.probe([*(one["reward"] for one in self._lines), line["reward"]])
            if probe is not None:
                line["probe"] = probe
        write_samples(Path(self._job.outputDir), state.global_step, trainer.episodes, trainer.decode)
        self._lines.append(line)
        self._store.add_progress(line)
        check_calibrated(self._lines, self._job)
        check_reward([one["reward"] for one in self._lines], algorithm.groups, environments, algorithm.rewardCollapse)
        has_ended = trainer.watch.ended is not None
        left = 0 if has_ended else algorithm.iterations - state.global_step
        # The time runs from the end of one iteration to the end of the next, since the wait for a compute slot counts,
        # too.
        self._reporter.report(line, round(left * (now - self._last_end), 1))
        self._last_end = now
        # A probe is in a checkpoint at once, so that it is not paid twice.
        if is_probed or state.global_step % self._job.checkpointEvery == 0:
            try:
                self._store.save_checkpoint(state.global_step, self._trainer.save_state)
            except DiskFull as error:
                # The older checkpoints are complete, and there may be room for the next one.
                self._store.notices.warn("disk", f"{error.strerror}; training continues without it")
        if has_ended or self._leaves() or (left and not self._turn.next(self._leaves)):
            self._store.save_checkpoint(state.global_step, self._trainer.save_state)
            control.should_training_stop = True
