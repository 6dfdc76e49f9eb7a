"""How TRL, PEFT and transformers are set up for a job."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import torch
from peft import LoraConfig
from trl import GRPOConfig

from ..job import Algorithm


def make_config(algorithm: Algorithm, seed: int, output: Path) -> GRPOConfig:
    """TRL's configuration: one on-policy optimiser step for each iteration, and no files of TRL's own."""
    return GRPOConfig(
        output_dir=str(output),
        per_device_train_batch_size=algorithm.rollouts,
        gradient_accumulation_steps=1,
        num_generations=algorithm.rolloutsPerGroup,
        max_steps=algorithm.iterations,
        learning_rate=algorithm.learningRate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=algorithm.warmupIterations,
        beta=algorithm.klBeta,
        epsilon=algorithm.clip,
        temperature=algorithm.temperature,
        max_grad_norm=algorithm.maxGradNorm,
        max_completion_length=algorithm.maxCompletionTokens * algorithm.maxTurns,
        loss_type="dapo",
        scale_rewards="group",
        shuffle_dataset=False,
        seed=seed % 2**32,
        bf16=False,
        gradient_checkpointing=False,
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=False,
        ignore_data_skip=True,
        # A loss that is not a number has to be seen, not replaced by the mean of earlier losses.
        logging_nan_inf_filter=False,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def make_lora(algorithm: Algorithm) -> LoraConfig:
    """LoRA on all linear layers of the blocks. PEFT initialises B with zeros, so that the first update is zero."""
    return LoraConfig(
        r=algorithm.rank, lora_alpha=algorithm.alpha, target_modules="all-linear", task_type="CAUSAL_LM", bias="none"
    )


@contextlib.contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keeps transformers and TRL from writing progress and advice to stdout and stderr."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    yield
