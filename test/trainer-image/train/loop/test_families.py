"""Tier: integration. One iteration of GRPO on a tiny random model of each family, sampled with transformers.

Also the step of a family whose rollouts share their beginning, against the library's own.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from fixtures.families import FAMILIES, Family, make_checkpoint
from fixtures.plain_sampler import PlainSampler
from fixtures.steps import take_step
from fixtures.trainer import LETTERS, make_job
from peft import PeftModel
from transformers import AutoModelForCausalLM
from whetstone.chat.renderer import Renderer
from whetstone.envs.client import open_environment
from whetstone.train.job import parse_job
from whetstone.train.loop.adapter_trainer import AdapterTrainer
from whetstone.train.loop.base_model import BaseModel
from whetstone.train.loop.rollouts import Rollouts
from whetstone.train.loop.trl_settings import make_config, quiet_libraries


@contextlib.contextmanager
def open_trainer(family: Family, folder: Path, **algorithm: object) -> Iterator[AdapterTrainer]:
    """A trainer of one iteration on the family's tiny model."""
    model = make_checkpoint(family, folder / "model")
    raw = make_job(model, folder / "out", [LETTERS], iterations=1, maxTurns=2, maxCompletionTokens=6, **algorithm)
    job = parse_job(json.dumps(raw))
    quiet_libraries()
    with contextlib.ExitStack() as stack:
        environments = [stack.enter_context(open_environment(str(LETTERS), "process"))]
        base = BaseModel.read(model, "vllm")
        # The engine reads none of them: not even the Llama, whose rotary embeddings are scaled.
        assert base.weights is None
        sampler = PlainSampler(base.tokenizer.pad_token_id)
        rollouts = Rollouts(sampler, Renderer(model), environments, job.algorithm, job.seed, job.taskSeedStart)
        config = make_config(job.algorithm, 5, folder, "test")
        yield AdapterTrainer(base, sampler, rollouts, job.algorithm, config)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_one_iteration(family: Family, tmp_path: Path) -> None:
    model = tmp_path / "model"
    with open_trainer(family, tmp_path, groups=1) as trainer:
        trainer.train()
    assert len({episode.reward for episode in trainer.episodes}) > 1
    norms = [entry["grad_norm"] for entry in trainer.state.log_history if "grad_norm" in entry]
    assert norms
    assert norms[0] > 0
    factors = {name: one for name, one in trainer.model.named_parameters() if "lora_B" in name}
    assert factors
    assert all(one.dtype == torch.float32 for one in factors.values())
    assert any(bool(one.abs().max() > 0) for one in factors.values())
    trainer.save_model(str(tmp_path / "adapter"))
    again = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model), str(tmp_path / "adapter"))
    saved = {name: one for name, one in again.named_parameters() if "lora_B" in name}
    assert all(torch.equal(saved[name], one) for name, one in factors.items())


@pytest.mark.parametrize("tokens", [0, 1200])
def test_a_step_with_a_shared_beginning_is_the_same(tokens: int, tmp_path: Path) -> None:
    found, read = {}, {}
    with open_trainer(
        FAMILIES["qwen3"], tmp_path, dropConstantGroups=False, updateTokens=tokens, supervisedWeight=0.5
    ) as trainer:
        for name, parameter in trainer.model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter, std=0.05)
        trainer.current_gradient_accumulation_steps = 1
        passes: list[int] = []
        trainer.model.get_input_embeddings().register_forward_hook(
            lambda _, given, __: passes.append(given[0].numel()) if torch.is_grad_enabled() else None
        )
        assert trainer._shares_prompts
        for shares in (True, False):
            trainer._shares_prompts = shares
            passes.clear()
            found[shares] = take_step(trainer), trainer.step_loss, trainer.step_kl, trainer.step_figures["entropy"]
            read[shares] = sum(passes)
    ours, theirs = found[True], found[False]
    assert read[True] < 0.8 * read[False]
    assert ours[1:] == pytest.approx(theirs[1:], abs=1e-5)
    assert ours[2] > 0
    assert any(bool(one.abs().max() > 0) for one in theirs[0])
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(ours[0], theirs[0], strict=True))


def test_checkpointing_leaves_each_rollout_whole(tmp_path: Path) -> None:
    with open_trainer(FAMILIES["qwen3"], tmp_path, gradientCheckpointing=True) as trainer:
        assert not trainer._shares_prompts
