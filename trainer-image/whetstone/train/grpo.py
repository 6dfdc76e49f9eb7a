"""TRL's GRPOTrainer, fed by our engine and with its log-probabilities computed without waste."""

from __future__ import annotations

import contextlib
import math
import os
import time
from pathlib import Path

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import PreTrainedModel, PreTrainedTokenizerFast
from transformers.trainer import TRAINER_STATE_NAME
from trl import GRPOConfig, GRPOTrainer

from whetstone.engine import Engine, live_adapter

from .collapse import Diverged
from .decisions import loss_mask
from .job import Algorithm
from .minibatches import minibatches, token_mean
from .packed import PackedPolicy, TokenTree
from .rollouts import LIVE, Episode, Rollouts
from .supervised import is_supervised, supervised_inputs

# Mean divergence from the base model, in nats a token, at which the policy has left the region that GRPO can repair.
COLLAPSE_KL = 25.0


def make_config(algorithm: Algorithm, seed: int, output: Path) -> GRPOConfig:
    """TRL's configuration for one optimiser step per iteration, on-policy, without anything of its own on disk."""
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
        # A loss that is not a number has to be seen, not replaced by the mean of earlier ones.
        logging_nan_inf_filter=False,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )


def make_lora(algorithm: Algorithm) -> LoraConfig:
    """LoRA on all linear layers of the blocks; the update starts at zero."""
    return LoraConfig(
        r=algorithm.rank, lora_alpha=algorithm.alpha, target_modules="all-linear", task_type="CAUSAL_LM", bias="none"
    )


class AdapterTrainer(GRPOTrainer):
    """Trains a new adapter of `model` on the rollouts that `rollouts` collects.

    TRL's are the advantages, the loss, the clipping, the optimiser and the schedule. Replaced are: generation (our
    engine, with the live adapter loaded before each iteration), the order of a batch (TRL shuffles it, which changes
    nothing but the rounding), and for small models the log-probabilities (packed.py). With `dropConstantGroups`, groups
    without a difference in reward take no part in the step, and an iteration without any other leaves the adapter as
    it is, but for the supervised loss. A step may go through the model in minibatches; the optimiser moves once.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerFast,
        engine: Engine,
        rollouts: Rollouts,
        algorithm: Algorithm,
        config: GRPOConfig,
    ) -> None:
        self._engine, self._rollouts, self._algorithm = engine, rollouts, algorithm
        self._scale = algorithm.alpha / algorithm.rank
        self._episodes: list[Episode] = []
        self._loss_mask: torch.Tensor | None = None
        self._packed = None
        self.seconds_generation = 0.0
        self.step_loss = 0.0
        self.step_kl = 0.0
        rows = {"prompt": [str(number) for number in range(algorithm.groups * algorithm.iterations)]}
        super().__init__(
            model=model,
            reward_funcs=_reward,
            args=config,
            train_dataset=Dataset.from_dict(rows),
            processing_class=tokenizer,
            # TRL adds the adapter, since it would keep a second one as the reference of a model that has one.
            peft_config=make_lora(algorithm),
            rollout_func=lambda prompts, _: self._collect(len(prompts)),
        )
        # Holds the parameters themselves, so it is the current adapter at any time.
        self._live = live_adapter(self.model, self._scale)
        self._live.check(engine.weights.shape, "adapter")
        if engine.weights.merge:
            self._packed = PackedPolicy(engine.weights, self._live.parts, self._scale, algorithm.temperature)

    @property
    def episodes(self) -> list[Episode]:
        """Rollouts of the last iteration."""
        return self._episodes

    def _collect(self, count: int) -> dict:
        """TRL's rollout function: prompts, completions with the environment's tokens masked, rewards."""
        start = time.perf_counter()
        self._engine.put_adapter(LIVE, self._live)
        # Decoding a small model is a chain of operations too short to be worth sharing between threads.
        threads = torch.get_num_threads()
        torch.set_num_threads(1 if self._packed else threads)
        self._episodes = self._rollouts.collect(self.state.global_step)
        torch.set_num_threads(threads)
        assert len(self._episodes) == count
        self.seconds_generation = time.perf_counter() - start
        episodes = self._episodes
        return {
            "prompt_ids": [episode.ids[: episode.prompt] for episode in episodes],
            "completion_ids": [episode.ids[episode.prompt :] for episode in episodes],
            "logprobs": None,
            "env_mask": [
                loss_mask(episode.sampled, episode.spans, self._algorithm.decisionTurnsOnly) for episode in episodes
            ],
            "env_reward": [episode.reward for episode in episodes],
        }

    def _prepare_inputs(self, generation_batch: list[dict] | dict) -> dict | None:
        """The tensors of the step, or None when no group tells the rollouts apart; a part of a step is ready."""
        if isinstance(generation_batch, dict):
            return generation_batch
        beta = self.beta
        if self._packed:
            # TRL would switch the adapter off and on in every module for a reference that compute_loss works out.
            self.beta = 0.0
        inputs = self._generate_and_score_completions(generation_batch)
        self.beta = beta
        if self._algorithm.dropConstantGroups:
            inputs = self._without_constant_groups(inputs)
        return inputs

    def _without_constant_groups(self, inputs: dict) -> dict | None:
        rewards: dict[int, set[float]] = {}
        for episode in self._episodes:
            rewards.setdefault(episode.group, set()).add(episode.reward)
        kept = [row for row, episode in enumerate(self._episodes) if len(rewards[episode.group]) > 1]
        if not kept:
            return None
        if len(kept) == len(self._episodes):
            return inputs
        rows = torch.tensor(kept)
        inputs = {key: value[rows] if value is not None and value.ndim else value for key, value in inputs.items()}
        inputs["num_items_in_batch"] = (inputs["completion_mask"] * inputs["tool_mask"]).sum()
        return inputs

    def _parts(self, generation_batch: list[dict]) -> list[dict]:
        """What the step learns from: minibatches of rollouts, then of references; empty when there is nothing."""
        inputs, algorithm = self._prepare_inputs(generation_batch), self._algorithm
        parts = minibatches(inputs, algorithm.updateTokens) if inputs else []
        if algorithm.supervisedWeight:
            references = self._rollouts.references(self._episodes)
            taught = supervised_inputs(references, self._tokenizer.pad_token_id, self.accelerator.device)
            parts += minibatches(taught, algorithm.updateTokens) if taught else []
        return parts

    def training_step(self, model, inputs, num_items_in_batch=None) -> torch.Tensor:
        """Forward and backward passes of one step; raises Diverged when the loss is not finite."""
        model.train()
        before = len(self._metrics["train"]["kl"])
        parts = self._parts(inputs)
        loss = None
        for part in parts:
            summand = super().training_step(model, part, num_items_in_batch)
            loss = summand if loss is None else loss + summand
        if loss is None:
            loss = torch.zeros((), device=self.accelerator.device)
        self.step_loss = loss.item()
        self.step_kl = token_mean(self._metrics["train"]["kl"][before:], parts)
        where = f"at iteration {self.state.global_step + 1}"
        if not math.isfinite(self.step_loss) or not math.isfinite(self.step_kl):
            raise Diverged(
                f"the loss is {self.step_loss} and the KL divergence {self.step_kl} {where}; lower the learning rate"
            )
        if self.step_kl > COLLAPSE_KL:
            raise Diverged(
                f"the policy is {self.step_kl:.1f} nats a token away from the base model {where}, so it has collapsed;"
                " lower the learning rate or raise klBeta"
            )
        return loss

    def _clip_grad_norm(self, model) -> torch.Tensor | None:
        norm = super()._clip_grad_norm(model)
        if norm is not None and not math.isfinite(float(norm)):
            raise Diverged(f"the gradient's norm is {float(norm)} at iteration {self.state.global_step + 1}")
        return norm

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """TRL's loss; the reference's log-probabilities are computed here, for the rows that are left."""
        mask = inputs["completion_mask"] * inputs["tool_mask"]
        if self._packed is not None:
            self._tree, self._targets, self._places = self._lay_out(inputs, mask)
        if is_supervised(inputs):
            return self._algorithm.supervisedWeight * self._cross_entropy(model, inputs, mask)
        if self._packed is not None and self.beta != 0.0:
            with torch.no_grad():
                inputs["ref_per_token_logps"] = self._spread(adapted=False)
        return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)

    def _cross_entropy(self, model, inputs: dict, mask: torch.Tensor) -> torch.Tensor:
        """Part of the mean negative log-probability of the references' tokens, at the rollouts' temperature."""
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
        attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
        logps, *_ = self._get_per_token_logps_and_entropies(model, ids, attention, mask.shape[1])
        return -(logps * mask).sum() / inputs["num_items_in_batch"]

    def _lay_out(self, inputs: dict, mask: torch.Tensor) -> tuple[TokenTree, list[int], torch.Tensor]:
        """The batch as a tree, the nodes that count in the loss, and per such place of the mask its node's number."""
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
        present = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1).bool()
        rows = [row[kept].tolist() for row, kept in zip(ids, present, strict=True)]
        lengths = inputs["prompt_mask"].sum(1).tolist()
        tree = TokenTree(rows)
        nodes = [tree.paths[row][lengths[row] + column] for row, column in mask.nonzero().tolist()]
        numbers = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
        self._shape, self._flat = mask.shape, mask.flatten().nonzero()[:, 0]
        return tree, list(numbers), torch.tensor([numbers[node] for node in nodes], device=mask.device)

    def _spread(self, adapted: bool) -> torch.Tensor:
        """Log-probabilities at the places of the mask, `[rows, completion]`, zero elsewhere."""
        values = self._packed.logprobs(self._tree, self._targets, adapted=adapted)
        out = values.new_zeros(self._shape.numel())
        return out.index_copy(0, self._flat, values[self._places]).view(self._shape)

    def _get_per_token_logps_and_entropies(self, model, input_ids, attention_mask, logits_to_keep, *args, **kwargs):
        if self._packed is None:
            if not torch.is_grad_enabled() and self._algorithm.updateTokens:
                # The reference of the whole batch, before it is cut into minibatches.
                kwargs["batch_size"] = max(1, self._algorithm.updateTokens // input_ids.shape[1])
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, *args, **kwargs
            )
        logps = self._spread(adapted=True)
        # Entropies are only a metric here, and not a reported one.
        return logps, torch.zeros_like(logps), None

    def create_model_card(self, *_args, **_kwargs) -> None:
        """No model card in checkpoints."""

    def check_adapter(self) -> None:
        """Raises Diverged when a number of the adapter is not finite.

        The loss alone does not tell: rollouts of a broken adapter all earn the same, and then nothing is computed.
        """
        for factors in self._live.parts.values():
            if not all(bool(torch.isfinite(factor).all()) for factor in factors):
                raise Diverged(
                    f"the adapter holds numbers that are not finite after iteration {self.state.global_step}"
                )

    def save_state(self, directory: Path) -> None:
        """Writes everything that resuming needs: adapter, optimiser, schedule, random state, counters."""
        self.save_model(str(directory), _internal_call=True)
        self._save_optimizer_and_scheduler(str(directory))
        self._save_rng_state(str(directory))
        self.state.save_to_json(os.path.join(directory, TRAINER_STATE_NAME))


def _reward(completions: list, env_reward: list[float], **_: object) -> list[float]:
    return env_reward


@contextlib.contextmanager
def quiet_libraries():
    """Keeps transformers and TRL from writing progress and advice to stdout and stderr."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    yield
