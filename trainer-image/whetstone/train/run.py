"""Runs one training job to its end, or to a checkpoint when it is told to stop."""

from __future__ import annotations

import contextlib
import gc
import json
import time
from pathlib import Path
from threading import Event

import torch
from transformers import TrainerCallback
from transformers.trainer_callback import PrinterCallback

from whetstone.chat import Chat
from whetstone.engine import Engine
from whetstone.envs.client import open_environment

from .base import Base
from .collapse import check_reward
from .grpo import AdapterTrainer, make_config, quiet_libraries
from .hints import unaided
from .job import TrainingJob
from .reports import Reporter
from .rollouts import Rollouts
from .store import OutputStore, tree_sha256
from .turns import Turn


class _Recorder(TrainerCallback):
    """Writes a progress line and, when due, a checkpoint after every iteration."""

    def __init__(self, job: TrainingJob, store: OutputStore, lines: list[dict], stop: Event, turn: Turn) -> None:
        self.lines = lines
        self.trainer: AdapterTrainer | None = None
        self._job, self._store, self._stop, self._turn = job, store, stop, turn
        self._reporter = Reporter(job.outputDir)
        self._elapsed_before = lines[-1]["secondsElapsed"] if lines else 0.0
        self._start = self._step_start = self._last_end = time.perf_counter()

    def on_train_begin(self, args, state, control, **_):
        self._start = self._last_end = time.perf_counter()

    def on_step_begin(self, args, state, control, **_):
        self._step_start = time.perf_counter()

    def on_log(self, args, state, control, logs=None, **_):
        """Called once an iteration, after the optimiser's step, with the gradient's norm."""
        if not logs or "grad_norm" not in logs or state.global_step <= len(self.lines):
            return
        now = time.perf_counter()
        self.trainer.check_adapter()
        trainer, episodes = self.trainer, self.trainer.episodes
        rewards = torch.tensor([episode.reward for episode in unaided(episodes)], dtype=torch.float64)
        line = {
            "iteration": state.global_step,
            "iterations": self._job.algorithm.iterations,
            "reward": rewards.mean().item(),
            "rewardStd": rewards.std(correction=0).item(),
            "loss": trainer.step_loss,
            "kl": trainer.step_kl,
            "gradNorm": float(logs["grad_norm"]),
            "completionTokens": sum(sum(episode.sampled) for episode in episodes),
            "secondsGeneration": round(trainer.seconds_generation, 4),
            "secondsUpdate": round(now - self._step_start - trainer.seconds_generation, 4),
            "secondsElapsed": round(self._elapsed_before + now - self._start, 4),
        }
        self.lines.append(line)
        self._store.add_progress(line)
        algorithm, environments = self._job.algorithm, len(self._job.environments)
        check_reward([one["reward"] for one in self.lines], algorithm.groups, environments, algorithm.rewardCollapse)
        left = self._job.algorithm.iterations - state.global_step
        # From end to end: in a pack the other members' turns count too.
        self._reporter.tell(line, round(left * (now - self._last_end), 1))
        self._last_end = now
        if state.global_step % self._job.checkpointEvery == 0:
            self._store.save_checkpoint(state.global_step, self.trainer.save_state)
        if self._leaves() or (left and not self._turn.next(self._leaves)):
            self._store.save_checkpoint(state.global_step, self.trainer.save_state)
            control.should_training_stop = True

    def _leaves(self) -> bool:
        return self._stop.is_set() or self._store.cancelled


def run_job(
    job: TrainingJob,
    store: OutputStore,
    stop: Event,
    started: float,
    base: Base | None = None,
    turn: Turn | None = None,
) -> bool:
    """Trains until the manifest is written (True), or leaves after a checkpoint (False): `stop` was set, or the job was
    cancelled.

    `started` is the perf_counter value at which the process began; `base` is read when it is not given, `turn` is for
    members of a pack. Raises SandboxError and EnvironmentFailed for the environments, Diverged for the optimisation,
    ModelError for the base model.
    """
    torch.set_num_threads(job.threads)
    turn = turn or Turn()
    # On the CPU every kernel used has a deterministic form; one that has not is an error, not a surprise.
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())
    with contextlib.ExitStack() as open_things, quiet_libraries():
        environments = [
            open_things.enter_context(open_environment(e.path, job.isolation, job.jailProfile or None))
            for e in job.environments
        ]
        algorithm = job.algorithm
        base = base or Base.read(Path(job.baseModel))
        engine = Engine(base.weights, algorithm.rollouts, exact=False)
        rollouts = Rollouts(engine, Chat(Path(job.baseModel)), environments, algorithm, job.seed, job.taskSeedStart)
        config = make_config(algorithm, job.seed, store.root)
        trainer = AdapterTrainer(base.model, base.tokenizer, engine, rollouts, algorithm, config)
        checkpoint = store.latest()
        lines = store.rewind(checkpoint[1] if checkpoint else 0)
        recorder = _Recorder(job, store, lines, stop, turn)
        recorder.trainer = trainer
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(recorder)
        # The libraries' million objects need not be looked at by every later collection; at exit they are again, or
        # extension modules report them as leaks.
        gc.freeze()
        open_things.callback(gc.unfreeze)
        startup = time.perf_counter() - started
        if len(lines) < algorithm.iterations and not (stop.is_set() or store.cancelled):
            trainer.train(resume_from_checkpoint=str(checkpoint[0]) if checkpoint else None)
        elif checkpoint:
            trainer._load_from_checkpoint(str(checkpoint[0]))
        if len(lines) < algorithm.iterations:
            return False
        _finish(job, store, trainer, lines, startup)
        return True


def _finish(job: TrainingJob, store: OutputStore, trainer: AdapterTrainer, lines: list[dict], startup: float) -> None:
    adapter_sha256 = store.save_adapter(lambda directory: _write_adapter(job, trainer, directory))
    elapsed = lines[-1]["secondsElapsed"]
    store.save_manifest(
        {
            "jobId": job.jobId,
            "jobSha256": job.sha256,
            "baseModelSha256": tree_sha256(Path(job.baseModel)),
            "adapterSha256": adapter_sha256,
            "adapterDir": "adapter",
            "iterations": len(lines),
            "rollouts": len(lines) * job.algorithm.rollouts,
            "seconds": {
                "total": round(elapsed + startup, 3),
                "generation": round(sum(line["secondsGeneration"] for line in lines), 3),
                "update": round(sum(line["secondsUpdate"] for line in lines), 3),
                "startup": round(startup, 3),
            },
            "completionTokens": sum(line["completionTokens"] for line in lines),
            "curve": [{key: line[key] for key in ("iteration", "reward", "kl", "loss")} for line in lines],
            "finalReward": sum(line["reward"] for line in lines[-5:]) / len(lines[-5:]),
            "environmentSha256": [environment.sha256 for environment in job.environments],
        }
    )


def _write_adapter(job: TrainingJob, trainer: AdapterTrainer, directory: Path) -> None:
    """Saves in PEFT's format, but the same bytes for the same adapter: no path of this machine, lists in order."""
    trainer.model.save_pretrained(str(directory))
    path = directory / "adapter_config.json"
    config = json.loads(path.read_text())
    config["base_model_name_or_path"] = Path(job.baseModel).name
    config["target_modules"] = sorted(config["target_modules"])
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
