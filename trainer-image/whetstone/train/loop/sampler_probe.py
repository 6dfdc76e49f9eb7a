"""Checks, once per process, whether a sampler computes the same as the trainer, with and without an adapter."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from peft import PeftModel
from transformers import PreTrainedTokenizerBase

from whetstone.sampling import Sample, Sampler, SampleRequest, SamplerRefused
from whetstone.sampling.vllm_sampler import VllmSampler

TEXTS = ("Please look up order 4711 and", "def add(a, b):", '{"city": "Oslo", "days": [1, 2,')
TOKENS = 24
# Largest mean difference of log-probabilities, in nats a token, that rounding explains: bfloat16 on a GPU stays below
# it.
ROUNDING = 0.1
# Largest difference as a share of the adapter's effect. An adapter with half the scale is far above it.
SHARE_OF_EFFECT = 0.25
# The probe's adapter changes each layer's output by about this share.
STRENGTH = 0.1
PARALLEL_REQUESTS_FAULT = (
    "vLLM on a processor gives base requests the adapter of requests beside them"
    " (https://github.com/vllm-project/vllm/pull/48421): apply that change to it, or use a GPU"
)


def probe_sampler(sampler: Sampler, model: PeftModel, tokenizer: PreTrainedTokenizerBase, temperature: float) -> None:
    """Compares samples of the base model, and of a perturbed adapter, with the trainer's own log-probabilities.

    Faulty servers are known: an adapter loads but has no effect, or is scaled twice; the base model answers differently
    once adapters are enabled, or while requests to an adapter run in parallel. Afterwards the model's adapter is the
    same as before. Raises SamplerRefused.
    """
    if not isinstance(sampler, VllmSampler):
        return
    ends = () if tokenizer.eos_token_id is None else (tokenizer.eos_token_id,)
    prompts = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in TEXTS]
    requests = [SampleRequest(ids, TOKENS, temperature, seed, ends) for seed, ids in enumerate(prompts)]
    with model.disable_adapter():
        samples = sampler.sample_base(requests)
        own = _logprobs(model, requests, samples, temperature)
        raw = _logprobs(model, requests, samples, 1.0)
    apart = _distance(own, samples)
    if apart > ROUNDING and _distance(raw, samples) < apart / 2:
        raise SamplerRefused(
            "the sampler gives log-probabilities before the temperature is applied, and the correction needs those"
            f" after it: start it with --logprobs-mode processed_logprobs (temperature is {temperature:g})"
        )
    if apart > ROUNDING:
        raise SamplerRefused(
            f"the sampler's base model is not the trainer's: on the same tokens their log-probabilities differ by"
            f" {apart:.3f} nats a token; serve the model that model.path names, in the same precision; where another"
            f" training uses this server, {PARALLEL_REQUESTS_FAULT}"
        )
    with _perturbed(model):
        name = sampler.publish(model)
        with ThreadPoolExecutor(1) as pool:
            in_parallel = pool.submit(sampler.sample_base, requests)
            samples = sampler.sample(requests)
            base_samples = in_parallel.result()
        with_adapter = _logprobs(model, requests, samples, temperature)
        with model.disable_adapter():
            without = _logprobs(model, requests, samples, temperature)
            apart = _distance(_logprobs(model, requests, base_samples, temperature), base_samples)
    if apart > ROUNDING:
        raise SamplerRefused(
            "the sampler's base model answers otherwise while requests to an adapter run beside it: by"
            f" {apart:.3f} nats a token; {PARALLEL_REQUESTS_FAULT}"
        )
    effect = sum(abs(a - b) for a, b in zip(with_adapter, without, strict=True)) / len(without)
    apart = _distance(with_adapter, samples)
    if apart > max(SHARE_OF_EFFECT * effect, ROUNDING if effect > 4 * ROUNDING else 0.0):
        raise SamplerRefused(
            f"adapter {name} acts otherwise in the sampler than in the trainer: it changes log-probabilities by"
            f" {effect:.3f} nats a token, and the sampler's differ from the trainer's by {apart:.3f}, so it is ignored"
            " or scaled wrongly there; use another version of vLLM"
        )


def _distance(own: list[float], samples: list[Sample]) -> float:
    theirs = [value for sample in samples for value in sample.logprobs or []]
    return sum(abs(a - b) for a, b in zip(own, theirs, strict=True)) / max(1, len(theirs))


@torch.no_grad()
def _logprobs(
    model: PeftModel, requests: list[SampleRequest], samples: list[Sample], temperature: float
) -> list[float]:
    """The trainer's log-probabilities of the sampled tokens, one sample after the other."""
    was_training, device = model.training, next(model.parameters()).device
    model.eval()
    values: list[float] = []
    for request, sample in zip(requests, samples, strict=True):
        ids = torch.tensor([request.prompt + sample.tokens], device=device)
        logits = model(input_ids=ids).logits[0, len(request.prompt) - 1 : -1].float()
        logprobs = torch.log_softmax(logits / temperature, -1)
        values += logprobs.gather(1, ids[0, len(request.prompt) :, None])[:, 0].tolist()
    model.train(was_training)
    return values


@contextlib.contextmanager
def _perturbed(model: PeftModel) -> Iterator[None]:
    """Adds noise to the factors B of the model's adapter, and removes it afterwards."""
    generator = torch.Generator().manual_seed(0)
    before = []
    with torch.no_grad():
        for module in model.modules():
            if "default" not in getattr(module, "lora_B", {}):
                continue
            a, b = module.lora_A["default"].weight, module.lora_B["default"].weight
            before.append((b, b.detach().clone()))
            noise = torch.randn(b.shape, generator=generator)
            change = float((noise.to(a) @ a.detach()).norm()) * abs(module.scaling["default"])
            weight = getattr(module.get_base_layer(), "weight", None)
            # The norm of quantised weights is not known.
            size = float(weight.detach().float().norm()) if weight is not None and weight.is_floating_point() else 1.0
            b += (noise * (STRENGTH * size / max(change, 1e-12))).to(b)
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, value in before:
                parameter.copy_(value)
