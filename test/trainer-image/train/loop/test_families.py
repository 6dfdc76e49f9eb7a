"""Tier: integration. One iteration of GRPO on a tiny random model of each family, sampled with transformers."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
import torch
from fixtures.families import FAMILIES, Family, make_checkpoint
from fixtures.plain_sampler import PlainSampler
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


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_one_iteration(family: Family, tmp_path: Path) -> None:
    model = make_checkpoint(family, tmp_path / "model")
    raw = make_job(model, tmp_path / "out", [LETTERS], iterations=1, groups=1, maxTurns=2, maxCompletionTokens=6)
    job = parse_job(json.dumps(raw))
    with contextlib.ExitStack() as stack, quiet_libraries():
        environments = [stack.enter_context(open_environment(str(LETTERS), "process"))]
        base = BaseModel.read(model, "vllm")
        # The engine reads none of them: not even the Llama, whose rotary embeddings are scaled.
        assert base.weights is None
        sampler = PlainSampler(base.tokenizer.pad_token_id)
        rollouts = Rollouts(sampler, Renderer(model), environments, job.algorithm, job.seed, job.taskSeedStart)
        trainer = AdapterTrainer(
            base, sampler, rollouts, job.algorithm, make_config(job.algorithm, 5, tmp_path, "test")
        )
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
