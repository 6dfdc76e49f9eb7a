"""TRL's GRPO trainer of one adapter, with our rollouts. The methods are in the order in which a step calls them."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from datasets import Dataset
from transformers.trainer import TRAINER_STATE_NAME
from trl import GRPOConfig, GRPOTrainer

from whetstone.engine import live_adapter
from whetstone.sampling import Sampler

from ..job import Algorithm
from ..loss.advantages import own_baselines
from ..loss.divergence import Diverged
from ..loss.loss_mask import loss_mask
from ..loss.minibatches import minibatches, part_weight, token_mean
from ..loss.prefix_tree import PrefixTreeBatch, PrefixTreePolicy
from ..loss.shared_prompt import shared_logprobs, shares_prompts
from ..loss.supervised import is_supervised, supervised_inputs
from ..watch.watch import Watch
from .base_model import BaseModel
from .episode import Episode
from .iteration_record import measured_figures, rollout_figures
from .rollouts import Rollouts
from .sampler_mismatch import correct_for_sampler, sampler_mismatch
from .sampler_probe import ROUNDING, probe_sampler
from .sampler_proof import ENGINE_ROUNDING, SamplerProof
from .trl_settings import choose_attention, make_lora, scales_rewards
from .warm_start import WarmStart


class AdapterTrainer(GRPOTrainer):
    """TRL's GRPO trainer of a new adapter, with the rollouts from `rollouts`.

    TRL computes the advantages, the loss and its clipping, and runs optimiser and schedule. Replaced are

    - generation: a sampler plays the rollouts, with the live adapter published before each iteration;
    - the order of a batch: TRL shuffles it, which only changes the rounding;
    - the log-probabilities, so that a shared prefix is computed once: by loss/prefix_tree.py for small models, by
      loss/shared_prompt.py for others with full attention.

    With `dropConstantGroups`, groups with equal rewards are left out of the step. If no group is left, the iteration
    does not change the adapter, except through the supervised loss. A step may process minibatches, but the optimiser
    takes only one step.
    """

    def __init__(
        self,
        base: BaseModel,
        sampler: Sampler,
        rollouts: Rollouts,
        algorithm: Algorithm,
        config: GRPOConfig,
        warm_start: WarmStart | None = None,
        watch: Watch | None = None,
        while_sampling: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self._warm_start, self._while_sampling = warm_start or WarmStart(None), while_sampling
        self.watch = watch or Watch(algorithm, None, None, None)
        self._sampler, self._rollouts, self._algorithm = sampler, rollouts, algorithm
        self.decode = rollouts.decode
        self.episodes: list[Episode] = []
        """Rollouts of the last iteration that the update learned from."""
        self.drawn: list[Episode] = []
        """All rollouts of the last iteration, including those of tasks that were then replaced."""
        self._tree_policy: PrefixTreePolicy | None = None
        self.seconds_generation = self.seconds_waiting = 0.0
        self.step_loss = 0.0
        self.step_kl = 0.0
        # TRL's figures of the last step.
        self.step_figures: dict[str, float] = {}
        # Numbers of rollouts and tokens in the last step.
        self._step_size = (0, 0)
        self.step_mismatch: dict[str, float] | None = None
        self._taught_share = 0.0
        self._probed = False
        if sampler.reports_logprobs:
            self._proof = SamplerProof(algorithm.temperature, ROUNDING)
        else:
            self._proof = SamplerProof(1.0, ENGINE_ROUNDING)
        choose_attention(base.model, algorithm)
        rows = {"prompt": [str(number) for number in range(algorithm.groups * algorithm.iterations)]}
        super().__init__(
            model=base.model,
            reward_funcs=_reward,
            args=config,
            train_dataset=Dataset.from_dict(rows),
            processing_class=base.tokenizer,
            # TRL adds the adapter. If the model already had one, TRL would keep a copy of it as the reference.
            peft_config=make_lora(algorithm),
            rollout_func=lambda prompts, _: self._collect(len(prompts)),
        )
        if base.weights is not None:
            # It refers to the parameters themselves, so it is the current adapter at any time.
            live = live_adapter(self.model, algorithm.alpha / algorithm.rank)
            live.check(base.weights.shape, "adapter")
            if base.weights.merge:
                self._tree_policy = PrefixTreePolicy(base.weights, live.parts, live.scale, algorithm.temperature)
        # This reads the options, because transformers turns on the model's checkpointing only when the training starts.
        self._shares_prompts = not algorithm.gradientCheckpointing and shares_prompts(self.model)
        if sampler.reports_logprobs:
            correct_for_sampler(self)

    def probe(self, rewards: list[float]) -> dict | None:
        """Lets the watch play a probe with the current adapter. `rewards` are the mean rewards of all iterations."""
        return self.watch.probe(self.model, self.state.global_step, rewards, self._sampling)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Transformers' hook for trackers. It adds the figures of the rollouts to TRL's own."""
        if "grad_norm" in logs:
            logs = {**logs, **{f"rollouts/{name}": value for name, value in rollout_figures(self.episodes).items()}}
        super().log(logs, start_time)

    def training_step(self, model, inputs, num_items_in_batch=None) -> torch.Tensor:
        """One iteration up to the gradient; returns the loss. Raises Diverged if loss or KL divergence show it."""
        model.train()
        metrics = self._metrics["train"]
        # TRL clears the metrics when it logs, once an iteration. Only a separate step leaves something here.
        metrics.clear()
        parts = self._parts(inputs)
        loss = None
        for part in parts:
            summand = super().training_step(model, part, num_items_in_batch)
            loss = summand if loss is None else loss + summand
        if loss is None:
            loss = torch.zeros((), device=self.accelerator.device)
        self.step_loss = loss.item()
        self.step_kl = token_mean(metrics["kl"], parts)
        self.step_figures = {**measured_figures(metrics), "taughtShare": self._taught_share}
        if self._tree_policy is not None:
            # The prefix tree does not compute it.
            self.step_figures.pop("entropy", None)
        where = f"at iteration {self.state.global_step + 1}"
        if not math.isfinite(self.step_loss) or not math.isfinite(self.step_kl):
            raise Diverged(
                f"the loss is {self.step_loss} and the KL divergence {self.step_kl} {where}; lower the learning rate"
            )
        if self.step_kl > self._algorithm.maxKl:
            raise Diverged(
                f"the policy is {self.step_kl:.1f} nats a token away from the base model {where}, so it has collapsed;"
                f" lower the learning rate or raise klBeta (maxKl is {self._algorithm.maxKl:g})"
            )
        return loss

    def _parts(self, generation_batch: list[dict]) -> list[dict]:
        """The minibatches of the step: rollouts first, then reference solutions. There may be none."""
        inputs, algorithm = self._prepare_inputs(generation_batch), self._algorithm
        if inputs:
            self._step_size = len(inputs["completion_ids"]), int(inputs["num_items_in_batch"])
        parts = minibatches(inputs, algorithm.updateTokens) if inputs else []
        if algorithm.supervisedWeight:
            references = self._rollouts.references(self.episodes)
            taught = supervised_inputs(references, self._tokenizer.pad_token_id, self.accelerator.device)
            parts += minibatches(taught, algorithm.updateTokens) if taught else []
        return parts

    def _prepare_inputs(self, generation_batch: list[dict] | dict) -> dict | None:
        """TRL's tensors of the step; None if no group has differing rewards.

        TRL calls it for the whole step, and again for each minibatch, which is a dict and is returned unchanged.
        """
        if isinstance(generation_batch, dict):
            return generation_batch
        beta = self.beta
        if self._tree_policy:
            # compute_loss computes the reference. TRL would switch the adapter off and on in every module for that.
            self.beta = 0.0
        inputs = self._generate_and_score_completions(generation_batch)
        self.beta = beta
        self.step_mismatch = sampler_mismatch(self, inputs)
        if self._algorithm.hintBaseline:
            rewards = [episode.reward for episode in self.episodes]
            advantages = own_baselines(rewards, self._kinds(), scales_rewards(self._algorithm))
            inputs["advantages"] = advantages.to(inputs["advantages"])
        return self._drop_uninformative(inputs)

    def _kinds(self) -> list[tuple[int, bool]]:
        """The comparison group of each rollout. With `hintBaseline`, rollouts with hints are a separate group."""
        apart = self._algorithm.hintBaseline
        return [(episode.group, apart and bool(episode.shown)) for episode in self.episodes]

    def _collect(self, count: int) -> dict:
        """TRL's rollout function: prompts, completions with the environment's tokens masked, and rewards."""
        start = time.perf_counter()
        if not self._probed:
            probe_sampler(self._sampler, self.model, self.processing_class, self._algorithm.temperature)
            self._probed = True
        with self._sampling():
            collected = self._rollouts.collect(self.state.global_step)
            self.seconds_generation = time.perf_counter() - start
        self.seconds_waiting = time.perf_counter() - start - self.seconds_generation
        self.episodes, self.drawn = collected.episodes, collected.drawn
        episodes = self.episodes
        assert len(episodes) == count
        self._proof.check(self.model, episodes, self.state.global_step + 1)
        return {
            "prompt_ids": [episode.ids[: episode.prompt] for episode in episodes],
            "completion_ids": [episode.ids[episode.prompt :] for episode in episodes],
            "logprobs": [episode.logprobs for episode in episodes] if self._sampler.reports_logprobs else None,
            "env_mask": [self._mask(episode) for episode in episodes],
            "env_reward": [episode.reward for episode in episodes],
        }

    @contextlib.contextmanager
    def _sampling(self) -> Iterator[None]:
        """Publishes the adapter. Inside the context, rollouts may use it, and other trainings may compute.

        A small model samples with one thread, because its operations are too short for several.
        """
        threads = torch.get_num_threads()
        with self._while_sampling():
            self._sampler.publish(self.model)
            torch.set_num_threads(1 if self._tree_policy else threads)
            try:
                yield
            finally:
                torch.set_num_threads(threads)

    def _mask(self, episode: Episode) -> list[int]:
        """1 for each token of the completion that the update learns from."""
        if self._algorithm.maskTruncated and episode.truncated:
            return [0] * len(episode.sampled)
        return loss_mask(episode.sampled, episode.spans, self._algorithm.decisionTurnsOnly)

    def _drop_uninformative(self, inputs: dict) -> dict | None:
        """The rows that the step learns from; None if there are none.

        With `maskTruncated`, truncated rollouts are left out. With `dropConstantGroups`, rollouts are left out if all
        rewards of their comparison group are equal.
        """
        algorithm, kinds = self._algorithm, self._kinds()
        rewards: dict[tuple[int, bool], set[float]] = {}
        for kind, episode in zip(kinds, self.episodes, strict=True):
            rewards.setdefault(kind, set()).add(episode.reward)
        taught = [
            len(rewards[kind]) > 1 and any(self._mask(episode))
            for kind, episode in zip(kinds, self.episodes, strict=True)
        ]
        self._taught_share = sum(taught) / len(taught)
        kept = [
            row
            for row, (kind, episode) in enumerate(zip(kinds, self.episodes, strict=True))
            if not (algorithm.dropConstantGroups and len(rewards[kind]) < 2)
            and not (algorithm.maskTruncated and episode.truncated)
        ]
        if not kept:
            return None
        if len(kept) == len(self.episodes):
            return inputs
        rows = torch.tensor(kept)
        inputs = {key: value[rows] if value is not None and value.ndim else value for key, value in inputs.items()}
        inputs["num_items_in_batch"] = (inputs["completion_mask"] * inputs["tool_mask"]).sum()
        return inputs

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The loss of one minibatch: TRL's for rollouts, the weighted cross-entropy for reference solutions.

        The base model's log-probabilities for the KL term are computed here, for the remaining rows.
        """
        mask = inputs["completion_mask"] * inputs["tool_mask"]
        if self._tree_policy is not None:
            self._batch = PrefixTreeBatch(*_whole_rows(inputs), mask)
        if is_supervised(inputs):
            return self._algorithm.supervisedWeight * self._cross_entropy(model, inputs, mask)
        if self._tree_policy is not None and self.beta != 0.0:
            with torch.no_grad():
                inputs["ref_per_token_logps"] = self._batch.logprobs(self._tree_policy, adapted=False)
        loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        weight = part_weight(self._algorithm.lossType, inputs, *self._step_size)
        return loss if weight == 1 else loss * weight

    def _cross_entropy(self, model, inputs: dict, mask: torch.Tensor) -> torch.Tensor:
        """This minibatch's part of the mean negative log-probability of the references' tokens, in nats.

        The temperature is the same as in the rollouts.
        """
        logps, *_ = self._get_per_token_logps_and_entropies(model, *_whole_rows(inputs), mask.shape[1])
        return -(logps * mask).sum() / inputs["num_items_in_batch"]

    def _get_per_token_logps_and_entropies(self, model, input_ids, attention_mask, logits_to_keep, *args, **kwargs):
        """TRL's hook for the log-probabilities of the completions, `[rows, logits_to_keep]`, zero outside the mask."""
        if self._tree_policy is None:
            if not torch.is_grad_enabled() and self._algorithm.updateTokens:
                # The reference of the whole batch, before the batch is cut into minibatches.
                kwargs["batch_size"] = max(1, self._algorithm.updateTokens // input_ids.shape[1])
            if self._shares_prompts:
                rows = kwargs.get("batch_size") or len(input_ids)
                found = shared_logprobs(model, input_ids, attention_mask, logits_to_keep, rows)
                if found is not None:
                    return *found, None
            return super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, *args, **kwargs
            )
        if not torch.is_grad_enabled():
            # The trainer's own log-probabilities of another sampler's tokens, before the batch is cut.
            self._batch = PrefixTreeBatch(input_ids, attention_mask, attention_mask[:, -logits_to_keep:])
        logps = self._batch.logprobs(self._tree_policy, adapted=True)
        # TRL only reports the entropies, so this returns zeros. A loss that needs them must add them to the tree.
        return logps, torch.zeros_like(logps), None

    def _clip_grad_norm(self, model) -> torch.Tensor | None:
        """Transformers' hook before the optimiser's step. Raises Diverged if the norm is not finite."""
        norm = super()._clip_grad_norm(model)
        if norm is not None and not math.isfinite(float(norm)):
            raise Diverged(f"the gradient's norm is {float(norm)} at iteration {self.state.global_step + 1}")
        return norm

    def check_adapter(self) -> None:
        """Raises Diverged if a number of the adapter is not finite.

        The loss does not show it: rollouts of a broken adapter all earn the same, and then no loss is computed.
        """
        for parameter in self.model.parameters():
            if parameter.requires_grad and not bool(torch.isfinite(parameter).all()):
                raise Diverged(
                    f"the adapter holds numbers that are not finite after iteration {self.state.global_step}"
                )

    def save_state(self, directory: Path) -> None:
        """Writes everything that a resumed training needs: adapter, optimiser, schedule, random state, counters."""
        self.save_model(str(directory), _internal_call=True)
        self._save_optimizer_and_scheduler(str(directory))
        self._save_rng_state(str(directory))
        self.state.save_to_json(os.path.join(directory, TRAINER_STATE_NAME))
        self.watch.save(Path(directory))
        self._warm_start.save(Path(directory))

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model=None) -> None:
        """Transformers' hook for the adapter of a checkpoint. It also reads the warm start."""
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        self._warm_start.load(Path(resume_from_checkpoint))


def _whole_rows(inputs: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and attention mask of prompts with their completions, `[rows, columns]` each."""
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
    return ids, torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)


def _reward(completions: list, env_reward: list[float], **_: object) -> list[float]:
    """TRL's reward function: the environments have already given the rewards."""
    return env_reward
