"""The settings of TRL, PEFT and transformers for a job."""

from __future__ import annotations

from pathlib import Path

import torch
from peft import LoraConfig
from transformers import PreTrainedModel, logging
from trl import GRPOConfig

from whetstone.engine import ModelError

from ..job import Algorithm

# Transformers' names of the schedules, each with a warm-up.
SCHEDULES = {"constant": "constant_with_warmup", "linear": "linear", "cosine": "cosine"}


def scales_rewards(algorithm: Algorithm) -> bool:
    """Whether advantages are divided by the standard deviation of their group; Dr. GRPO omits that."""
    return algorithm.lossType != "dr_grpo"


def make_config(algorithm: Algorithm, seed: int, output: Path, name: str) -> GRPOConfig:
    """TRL's configuration: one on-policy optimiser step for each iteration. `name` is the run's name in a tracker."""
    return GRPOConfig(
        output_dir=str(output),
        per_device_train_batch_size=algorithm.rollouts,
        gradient_accumulation_steps=1,
        num_generations=algorithm.rolloutsPerGroup,
        max_steps=algorithm.iterations,
        learning_rate=algorithm.learningRate,
        lr_scheduler_type=SCHEDULES[algorithm.learningRateSchedule],
        warmup_steps=algorithm.warmupIterations,
        beta=algorithm.klBeta,
        # A mixture's router is not trained, so its load is not part of the loss.
        router_aux_loss_coef=0.0,
        epsilon=algorithm.clip,
        temperature=algorithm.temperature,
        max_grad_norm=algorithm.maxGradNorm,
        max_completion_length=algorithm.maxCompletionTokens * algorithm.maxTurns,
        loss_type=algorithm.lossType,
        scale_rewards="group" if scales_rewards(algorithm) else "none",
        shuffle_dataset=False,
        seed=seed % 2**32,
        bf16=False,
        gradient_checkpointing=algorithm.gradientCheckpointing,
        gradient_checkpointing_kwargs={"use_reentrant": False} if algorithm.gradientCheckpointing else None,
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=False,
        ignore_data_skip=True,
        # Otherwise the log would show the mean of earlier losses instead of a loss that is not a number.
        logging_nan_inf_filter=False,
        logging_steps=1,
        save_strategy="no",
        # TensorBoardFiles writes TensorBoard's files.
        report_to="none" if algorithm.reportTo == "tensorboard" else algorithm.reportTo,
        run_name=name,
        disable_tqdm=True,
    )


def choose_attention(model: PreTrainedModel, algorithm: Algorithm) -> None:
    """Sets the implementation of attention that the options name. Raises ModelError if it is not available."""
    if algorithm.attention == "auto":
        return
    try:
        model.set_attn_implementation(algorithm.attention)
    except (ImportError, ValueError) as error:
        raise ModelError(
            f"attention {algorithm.attention} cannot be used with {type(model).__name__} here: {error}. Set"
            " training.attention to auto"
        ) from None


def make_lora(algorithm: Algorithm) -> LoraConfig:
    """LoRA on all linear layers of the blocks. PEFT initialises B with zeros, so that the first update is zero."""
    return LoraConfig(
        r=algorithm.rank, lora_alpha=algorithm.alpha, target_modules="all-linear", task_type="CAUSAL_LM", bias="none"
    )


def quiet_libraries() -> None:
    """Prevents transformers and TRL from writing progress and advice to stdout and stderr, for the whole process."""
    logging.set_verbosity_error()
    logging.disable_progress_bar()
