"""Rollouts that are given, not sampled, and the two trainers that take them: ours and TRL's own."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from datasets import Dataset
from shapes import make_tokenizer
from transformers import PreTrainedModel
from transformers.trainer_callback import PrinterCallback
from trl import GRPOTrainer
from whetstone.train.job import Algorithm
from whetstone.train.loop.adapter_trainer import AdapterTrainer
from whetstone.train.loop.base_model import BaseModel
from whetstone.train.loop.episode import Episode
from whetstone.train.loop.rollouts import Collected
from whetstone.train.loop.trl_settings import make_config, make_lora
from whetstone.train.loss.loss_mask import TurnSpan
from whetstone.train.loss.shared_prompt import make_parts


@dataclass(frozen=True)
class Rows:
    """`groups` tasks with `rollouts` each, all of `length` tokens, the first half of which is the prompt.

    Three quarters of the prompt are the same for all tasks, as system message and tools are. Three of four tokens of a
    completion are the agent's. Half of a group's rollouts earn 1, the others 0.
    """

    groups: int
    rollouts: int
    length: int

    @property
    def tokens(self) -> int:
        """Tokens of all rows."""
        return self.groups * self.rollouts * self.length

    @property
    def completion(self) -> int:
        """Tokens of a completion."""
        return self.length // 2

    def episodes(self) -> list[Episode]:
        """The rollouts, with random tokens that are the same at each call."""
        draw, prompt = random.Random(1), self.length - self.completion

        def tokens(count: int) -> list[int]:
            return [draw.randrange(64) for _ in range(count)]

        common = tokens(3 * prompt // 4)
        turn = max(4, self.completion // 16)
        sampled = [int(place % turn < 3 * turn // 4) for place in range(self.completion)]
        spans = [TurnSpan(at, min(at + 3 * turn // 4, self.completion), True) for at in range(0, self.completion, turn)]
        found = []
        for group in range(self.groups):
            opening = common + tokens(prompt - len(common))
            for number in range(self.rollouts):
                episode = Episode(group, number, group, 0, ids=opening + tokens(self.completion), prompt=prompt)
                episode.sampled, episode.logprobs = list(sampled), [0.0] * self.completion
                episode.spans, episode.turns, episode.over = list(spans), len(spans), True
                episode.reward = float(number % 2)
                found.append(episode)
        return found

    def read(self, shared: bool) -> int:
        """Tokens that pass through the model for one pass over all rows."""
        episodes = self.episodes()
        parts = make_parts([one.ids for one in episodes], [one.prompt for one in episodes]) if shared else None
        if parts is None:
            return self.tokens
        return sum(part.shared + len(part.rows) * (self.length - part.shared) for part in parts)

    def algorithm(self, iterations: int, **options: object) -> Algorithm:
        """The algorithm of a training that has these rows in each iteration."""
        return Algorithm(
            **{
                **{"groups": self.groups, "rolloutsPerGroup": self.rollouts, "iterations": iterations},
                **{"maxTurns": 1, "maxCompletionTokens": self.completion, "warmupIterations": 0, "reportTo": "none"},
                **options,
            }
        )


def rows_of(tokens: int, length: int) -> Rows:
    """As many rows as make up the tokens, up to four of a task."""
    count = tokens // length
    return Rows(max(1, count // 4), min(4, count), length)


class GivenSampler:
    """Stands where a sampler is: nothing is sampled."""

    length, length_setting, reports_logprobs = 2**20, "", False

    def publish(self, _model) -> str:
        """Takes the adapter and does nothing with it."""
        return "given"

    def close(self) -> None:
        """Holds nothing."""


class GivenRollouts:
    """Stands where the rollouts are collected: the same ones in each iteration."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def collect(self, _iteration: int) -> Collected:
        """The given rollouts."""
        episodes = self._rows.episodes()
        return Collected(episodes, episodes)

    def decode(self, ids: list[int]) -> str:
        """Nothing is read."""
        return ""


def our_trainer(model: PreTrainedModel, rows: Rows, algorithm: Algorithm, output: Path, weights=None) -> AdapterTrainer:
    """The project's trainer on these rows. With the engine's `weights` of a small model it uses the prefix tree."""
    base = BaseModel(weights, model, make_tokenizer())
    config = make_config(algorithm, 1, output, "gpu")
    trainer = AdapterTrainer(base, GivenSampler(), GivenRollouts(rows), algorithm, config)
    trainer.remove_callback(PrinterCallback)
    return trainer


def plain_trainer(model: PreTrainedModel, rows: Rows, algorithm: Algorithm, output: Path) -> GRPOTrainer:
    """TRL's trainer with the same configuration on the same rows."""
    episodes = rows.episodes()

    def rollout(_prompts: list, _trainer: GRPOTrainer) -> dict:
        return {
            "prompt_ids": [one.ids[: one.prompt] for one in episodes],
            "completion_ids": [one.ids[one.prompt :] for one in episodes],
            "logprobs": None,
            "env_mask": [one.sampled for one in episodes],
            "env_reward": [one.reward for one in episodes],
        }

    def reward(completions: list, env_reward: list[float], **_: object) -> list[float]:
        return env_reward

    names = [str(number) for number in range(algorithm.groups * algorithm.iterations)]
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=reward,
        args=make_config(algorithm, 1, output, "plain"),
        train_dataset=Dataset.from_dict({"prompt": names}),
        processing_class=make_tokenizer(),
        peft_config=make_lora(algorithm),
        rollout_func=rollout,
    )
    trainer.remove_callback(PrinterCallback)
    return trainer
