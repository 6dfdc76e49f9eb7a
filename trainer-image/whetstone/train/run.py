"""Runs one training job to its end, or to a checkpoint when it is told to stop."""

from __future__ import annotations

import contextlib
import gc
import json
import time
from pathlib import Path
from threading import Event

import torch
from transformers import AutoTokenizer, LlamaForCausalLM, TrainerCallback
from transformers.trainer_callback import PrinterCallback

from whetstone.engine import Engine, Weights
from whetstone.envs.client import open_environment
from whetstone.serve.chat import Chat

from .grpo import AdapterTrainer, make_config, quiet_libraries
from .job import TrainingJob
from .rollouts import Rollouts
from .store import OutputStore, tree_sha256


class _Recorder(TrainerCallback):
    """Writes a progress line and, when due, a checkpoint after every iteration."""

    def __init__(self, job: TrainingJob, store: OutputStore, lines: list[dict], stop: Event) -> None:
        self.lines = lines
        self.trainer: AdapterTrainer | None = None
        self._job, self._store, self._stop = job, store, stop
        self._elapsed_before = lines[-1]["secondsElapsed"] if lines else 0.0
        self._start = self._step_start = time.perf_counter()

    def on_train_begin(self, args, state, control, **_):
        self._start = time.perf_counter()

    def on_step_begin(self, args, state, control, **_):
        self._step_start = time.perf_counter()

    def on_log(self, args, state, control, logs=None, **_):
        """Called once an iteration, after the optimiser's step, with the gradient's norm."""
        if not logs or "grad_norm" not in logs or state.global_step <= len(self.lines):
            return
        now = time.perf_counter()
        trainer, episodes = self.trainer, self.trainer.episodes
        rewards = torch.tensor([episode.reward for episode in episodes], dtype=torch.float64)
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
        if state.global_step % self._job.checkpointEvery == 0 or self._stop.is_set():
            self._store.save_checkpoint(state.global_step, self.trainer.save_state)
        if self._stop.is_set():
            control.should_training_stop = True


def run_job(job: TrainingJob, store: OutputStore, stop: Event, started: float) -> bool:
    """Trains until the manifest is written (True), or stops after a checkpoint because `stop` was set (False).

    `started` is the perf_counter value at which the process began. Raises SandboxError and EnvironmentFailed for the
    environments, Diverged for the optimisation.
    """
    torch.set_num_threads(job.threads)
    base = Path(job.baseModel)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    # On the CPU every kernel used has a deterministic form; one that has not is an error, not a surprise.
    torch.use_deterministic_algorithms(True, warn_only=device == "cuda")
    with contextlib.ExitStack() as open_things, quiet_libraries():
        environments = [
            open_things.enter_context(open_environment(e.path, job.isolation, job.jailProfile or None))
            for e in job.environments
        ]
        algorithm = job.algorithm
        engine = Engine(Weights.read(base, device), algorithm.rollouts, exact=False)
        rollouts = Rollouts(engine, Chat(base), environments, algorithm, job.seed, job.taskSeedStart)
        config = make_config(algorithm, job.seed, store.root)
        model = LlamaForCausalLM.from_pretrained(base, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(base)
        trainer = AdapterTrainer(model, tokenizer, engine, rollouts, algorithm, config)
        checkpoint = store.latest()
        lines = store.rewind(checkpoint[1] if checkpoint else 0)
        recorder = _Recorder(job, store, lines, stop)
        recorder.trainer = trainer
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(recorder)
        # The libraries' million objects need not be looked at by every later collection; at exit they are again, or
        # extension modules report them as leaks.
        gc.freeze()
        open_things.callback(gc.unfreeze)
        startup = time.perf_counter() - started
        if len(lines) < algorithm.iterations and not stop.is_set():
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
