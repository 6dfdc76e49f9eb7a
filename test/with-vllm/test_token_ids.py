"""Tier: integration, with vLLM. The tokens that rollouts keep are those that vLLM read and sampled."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM
from vllm_process import SERVED_NAME
from whetstone.chat import Chat

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = [{"role": "user", "content": "put item 7 on shelf b please"}]
# What a worker asks, by the worker's own client.
SCRIPT = """
const { HttpModelClient } = require(process.argv[1]);
const request = JSON.parse(process.argv[2]);
const client = new HttpModelClient();
Promise.all([client.chat(request), client.countTokens(request)])
  .then(([{ tokens }, count]) => console.log(JSON.stringify({ ...tokens, count })))
  .finally(() => client.close());
"""


def ask(url: str, temperature: float) -> dict:
    asked = {"baseUrl": f"{url}/v1", "model": SERVED_NAME, "messages": MESSAGES, "tokens": True}
    asked |= {"temperature": temperature, "seed": 5, "maxTokens": 24}
    command = ["node", "-e", SCRIPT, str(ROOT / "dist" / "activities" / "rollout"), json.dumps(asked)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout)


@torch.no_grad()
def own_logprobs(model: Path, kept: dict, temperature: float) -> torch.Tensor:
    """The log-probabilities of every token at each sampled position, `[answer, vocabulary]`, by transformers."""
    policy = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    logits = policy(input_ids=torch.tensor([kept["prompt"] + kept["answer"]])).logits[0, len(kept["prompt"]) - 1 : -1]
    return torch.log_softmax(logits / temperature, -1)


def test_kept_ids_are_what_vllm_read_and_sampled(url: str, model: Path) -> None:
    chat = Chat(model)
    greedy = ask(url, 0)
    assert greedy["prompt"] == chat.encode(chat.render(MESSAGES, None))
    assert greedy["count"] == len(greedy["prompt"])
    assert greedy["answer"] == own_logprobs(model, greedy, 1).argmax(-1).tolist()
    # `whet up` starts vLLM so that its log-probabilities are those after the temperature.
    drawn = ask(url, 0.7)
    assert drawn["prompt"] == greedy["prompt"] and len(drawn["answer"]) == len(drawn["logprobs"]) > 0
    own = own_logprobs(model, drawn, 0.7).gather(1, torch.tensor(drawn["answer"])[:, None])[:, 0]
    assert torch.allclose(own, torch.tensor(drawn["logprobs"]), atol=1e-3)
