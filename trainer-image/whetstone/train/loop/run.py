"""Trains one adapter. `run_job` reads from top to bottom in the order in which a training runs.

It opens the job's resources, runs transformers' loop and writes the result. Each iteration of the loop is

1. `AdapterTrainer.training_step`, which calls the methods below it: collect rollouts with the current adapter, compute
   advantages from their rewards, drop constant groups, cut minibatches, and run loss and backward pass for each;
2. `AdapterTrainer._clip_grad_norm` and the optimiser's step;
3. `IterationEnd.on_log`: probe, progress line, stopping rules, report, checkpoint, and the wait for the next turn to
   compute.
"""

from __future__ import annotations

import contextlib
import gc
import time
from pathlib import Path
from threading import Event

import torch
from transformers.trainer_callback import PrinterCallback

from whetstone.chat.renderer import Renderer
from whetstone.envs.client import open_environment
from whetstone.sampling import SamplerInterrupted
from whetstone.sampling.managed_server import ManagedServer

from ..job import TrainingJob
from ..output.result import save_result
from ..output.store import OutputStore
from ..watch.open_watch import open_watch
from .adapter_trainer import AdapterTrainer
from .base_model import BaseModel
from .compute_turn import ComputeTurn
from .iteration_end import IterationEnd
from .open_sampler import managed_server, open_sampler
from .rollouts import Rollouts
from .trackers import TensorBoardFiles, check_tracker
from .trl_settings import make_config, quiet_libraries
from .warm_start import WarmStart


def run_job(
    job: TrainingJob,
    store: OutputStore,
    stop: Event,
    started: float,
    base: BaseModel | None = None,
    turn: ComputeTurn | None = None,
    server: ManagedServer | None = None,
) -> bool:
    """Trains until the manifest is written, or until it has to end earlier and has saved a checkpoint.

    True: the manifest exists. False: `stop` was set, the job was cancelled, or no worker attends to it. `started` is
    the perf_counter value at the process's start, in seconds. `base` is read if it is not given. `turn` is for jobs
    that share the cores with others, `server` for those that share a managed sampler.

    Raises JobError for a tracker that is not installed, SandboxError and EnvironmentFailed for the environments,
    EnvironmentDiffers for their rewards, Diverged for the optimisation, ModelError for the base model, SamplerRefused
    for the sampler, Locked if another trainer has taken over the output directory, and DiskFull.
    """
    torch.set_num_threads(job.threads)
    # On the CPU every kernel in use has a deterministic form. A kernel without one raises an error.
    torch.use_deterministic_algorithms(True, warn_only=torch.cuda.is_available())

    def leaves() -> bool:
        return stop.is_set() or store.cancelled or store.unattended

    check_tracker(job.algorithm.reportTo)
    quiet_libraries()
    with contextlib.ExitStack() as open_things:
        if job.sampler == "managed" and server is None:
            # This comes first, because it takes minutes; the steps below run meanwhile.
            server = open_things.enter_context(managed_server([job], store.root))
        environments = [
            open_things.enter_context(open_environment(e.path, job.isolation, job.jailProfile or None))
            for e in job.environments
        ]
        algorithm = job.algorithm
        base = base or BaseModel.read(Path(job.baseModel), job.sampler)
        turn = turn or ComputeTurn()
        sampler = open_things.enter_context(open_sampler(store, base, leaves, server))
        renderer = Renderer(Path(job.baseModel))
        rollouts = Rollouts(sampler, renderer, environments, algorithm, job.seed, job.taskSeedStart)
        config = make_config(algorithm, job.seed, store.root, job.jobId)
        warm_start, watch = WarmStart(job.beginsFrom), open_watch(job, sampler, renderer, open_things, store.notices)
        trainer = AdapterTrainer(
            base, sampler, rollouts, algorithm, config, warm_start, watch, lambda: turn.while_sampling(leaves)
        )
        checkpoint = store.latest()
        if checkpoint is None:
            # This comes after TRL has added its adapter, so that the reference of the KL term stays the base model.
            warm_start.put_into(trainer.model)
            if warm_start.why_from_zero is not None:
                store.notices.warn("beginning", f"training begins from zero, since {warm_start.why_from_zero}")
        else:
            watch.load(checkpoint[0])
        lines = store.rewind(checkpoint[1] if checkpoint else 0)
        trainer.remove_callback(PrinterCallback)
        if algorithm.reportTo == "tensorboard":
            trainer.add_callback(TensorBoardFiles(store.root, len(lines), store.notices))
        trainer.add_callback(IterationEnd(store, trainer, lines, leaves, turn))
        # Later garbage collections skip the libraries' million objects. At exit they must not skip them, or extension
        # modules report these objects as leaks.
        gc.freeze()
        open_things.callback(gc.unfreeze)
        startup = time.perf_counter() - started

        def is_over() -> bool:
            return len(lines) == algorithm.iterations or watch.ended is not None

        if not is_over() and not (stop.is_set() or store.cancelled):
            try:
                trainer.train(resume_from_checkpoint=str(checkpoint[0]) if checkpoint else None)
            except SamplerInterrupted:
                # The process has to end while it waits for the sampler. It keeps its progress so far.
                if trainer.state.global_step:
                    store.save_checkpoint(trainer.state.global_step, trainer.save_state)
                return False
        elif checkpoint:
            trainer._load_from_checkpoint(str(checkpoint[0]))
        if not is_over():
            return False
        watch.put_into(trainer.model)
        save_result(store, trainer.model, lines, startup, watch, warm_start.in_manifest)
        return True
