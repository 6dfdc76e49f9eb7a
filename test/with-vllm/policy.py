"""A PEFT model of the tests' checkpoint, as the trainer has it, and its own log-probabilities."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import torch
from peft import PeftModel, get_peft_model
from transformers import AutoModelForCausalLM
from whetstone.sampling import Sample, SampleRequest
from whetstone.sampling.vllm_sampler import VllmSampler
from whetstone.sampling.vllm_server import VllmServer
from whetstone.train.job import Algorithm
from whetstone.train.loop.trl_settings import make_lora

STOP = (2,)


def make_policy(model: Path, seed: int, rank: int = 8) -> PeftModel:
    """The model with a random adapter that changes what it says."""
    torch.manual_seed(seed)
    base = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    policy = get_peft_model(base, make_lora(Algorithm(rank=rank, alpha=2.0 * rank)))
    change(policy, seed)
    return policy.eval()


def change(policy: PeftModel, seed: int) -> None:
    """Gives the adapter other weights."""
    torch.manual_seed(seed)
    for name, parameter in policy.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)


def make_sampler(
    url: str, folder: Path, name: str = "test-", leaves: Callable[[], bool] = lambda: False
) -> VllmSampler:
    """A sampler whose adapters lie in `folder`; what it says while it waits is appended to `folder.said`."""

    def write(policy: PeftModel, directory: Path) -> None:
        policy.save_pretrained(str(directory))

    def tell(sentence: str | None) -> None:
        with folder.with_suffix(".said").open("a") as file:
            file.write(f"{sentence}\n")

    return VllmSampler(VllmServer(url, 64), name, "5e551071", folder, write, leaves, tell)


def make_requests(count: int, temperature: float, tokens: int = 16) -> list[SampleRequest]:
    """Requests with prompts of different lengths, some of which begin alike."""
    prompts = [
        [1, *(5 + (3 * place + number // 2) % 300 for place in range(4 + number % 7))] for number in range(count)
    ]
    return [SampleRequest(prompt, tokens, temperature, 2**62 + number, STOP) for number, prompt in enumerate(prompts)]


@torch.no_grad()
def distances(
    policy: PeftModel, requests: list[SampleRequest], samples: list[Sample], adapted: bool = True
) -> list[float]:
    """How far each sampled token's log-probability is from the policy's own, in nats."""
    found = []
    for request, sample in zip(requests, samples, strict=True):
        ids = torch.tensor([request.prompt + sample.tokens])
        with contextlib.nullcontext() if adapted else policy.disable_adapter():
            logits = policy(input_ids=ids).logits[0, len(request.prompt) - 1 : -1]
        own = torch.log_softmax(logits / (request.temperature or 1.0), -1)
        values = own.gather(1, ids[0, len(request.prompt) :, None])[:, 0].tolist()
        found += [abs(a - b) for a, b in zip(values, sample.logprobs, strict=True)]
    return found
