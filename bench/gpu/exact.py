"""Part 'exact': loss and gradient of one step on a small shape, against the same in float64, written out by itself."""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path

import torch
from peft import PeftModel, get_peft_model
from rows import Rows, our_trainer
from shapes import LLAMA_8B, Shape, make_model, shape_of
from whetstone.engine import Weights
from whetstone.train.loop.trl_settings import make_lora, quiet_libraries

# Two layers of Llama's proportions; a checkpoint that the engine reads, too.
SMALL = Shape(
    {
        **LLAMA_8B,
        **{"vocab_size": 2048, "hidden_size": 512, "intermediate_size": 1792, "num_hidden_layers": 2},
        **{"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64, "max_position_embeddings": 2048},
    }
)
ROWS = Rows(groups=2, rollouts=4, length=256)
TINY_ROWS = Rows(groups=2, rollouts=2, length=64)
# A weight at which the KL term shows in the loss.
BETA = 0.5
# Relative distances that rounding explains, of the loss and of the gradient's numbers together.
FLOAT32, BFLOAT16 = 1e-4, 5e-2


def cases(settings: dict) -> list:
    """Each way in which the trainer computes a step, in the precision in which it does."""
    return [
        ("float32, shared prompts", lambda: compare(settings, torch.float32, FLOAT32)),
        ("float32, prefix tree", lambda: compare(settings, torch.float32, FLOAT32, tree=True)),
        ("bfloat16, shared prompts", lambda: compare(settings, torch.bfloat16, BFLOAT16)),
    ]


def compare(settings: dict, dtype: torch.dtype, tolerance: float, tree: bool = False) -> dict:
    """Relative distances of loss and gradient from those in float64, and whether rounding explains them."""
    device, tiny = settings["device"], settings["tiny"]
    rows, shape = (TINY_ROWS, shape_of("llama-3.1-8b", tiny)) if tiny else (ROWS, SMALL)
    algorithm = rows.algorithm(1, klBeta=BETA, rank=8, alpha=16)
    quiet_libraries()
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(shape, device, dtype)
        weights = None
        if tree:
            model.save_pretrained(folder)
            weights = Weights.read(Path(folder), device)
        base = {name: value.double() for name, value in model.state_dict().items()}
        trainer = our_trainer(model, rows, algorithm, Path(settings["scratch"]) / "exact", weights)
        move_adapter(trainer.model)
        adapter = factors(trainer.model)
        before = {name: value.detach().double() for name, value in adapter.items()}
        trainer.current_gradient_accumulation_steps = 1
        # TRL writes into each of them.
        trainer.training_step(trainer.model, [{"prompt": ""} for _ in range(algorithm.rollouts)])
        loss = trainer.step_loss
        gradient = {name: value.grad.double() for name, value in adapter.items()}
        exact_loss, exact_gradient = in_float64(shape, device, rows, algorithm, base, before)
    apart = math.sqrt(sum(float((gradient[name] - one).norm()) ** 2 for name, one in exact_gradient.items()))
    size = math.sqrt(sum(float(one.norm()) ** 2 for one in exact_gradient.values()))
    found = {
        "loss": loss,
        "lossFloat64": exact_loss,
        "lossApart": abs(loss - exact_loss) / abs(exact_loss),
        "gradientApart": apart / size,
    }
    return {**found, "tolerance": tolerance, "within": max(found["lossApart"], found["gradientApart"]) <= tolerance}


def move_adapter(model: PeftModel) -> None:
    """Gives the factors B numbers, so that policy and reference differ and A has a gradient."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, parameter in factors(model).items():
            if "lora_B" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.05)


def factors(model: PeftModel) -> dict[str, torch.nn.Parameter]:
    """The adapter's parameters by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def in_float64(
    shape: Shape, device: str, rows: Rows, algorithm, base: dict, adapter: dict
) -> tuple[float, dict[str, torch.Tensor]]:
    """Loss and gradient of the step in float64: each rollout by itself, whole logits, nothing of TRL."""
    model = make_model(shape, device, torch.float64)
    model.load_state_dict(base)
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            # Transformers' norm computes in float32.
            module.forward = functools.partial(norm, module)
    policy = get_peft_model(model, make_lora(algorithm), autocast_adapter_dtype=False)
    own = factors(policy)
    with torch.no_grad():
        for name, value in adapter.items():
            own[name].data = value.clone()
    episodes = rows.episodes()
    count = sum(sum(one.sampled) for one in episodes)
    total = 0.0
    for one in episodes:
        rewards = [other.reward for other in episodes if other.group == one.group]
        mean = sum(rewards) / len(rewards)
        deviation = math.sqrt(sum((reward - mean) ** 2 for reward in rewards) / (len(rewards) - 1))
        # TRL adds 1e-4 to the standard deviation.
        advantage = (one.reward - mean) / (deviation + 1e-4)
        mask = torch.tensor(one.sampled, device=device, dtype=torch.float64)
        logprobs = completion_logprobs(policy, one, device)
        with torch.no_grad(), policy.disable_adapter():
            reference = completion_logprobs(policy, one, device)
        kl = torch.exp(reference - logprobs) - (reference - logprobs) - 1
        # The ratio is 1 and has a gradient, in the KL term as well.
        ratio = torch.exp(logprobs - logprobs.detach())
        loss = (ratio * (algorithm.klBeta * kl - advantage) * mask).sum() / count
        loss.backward()
        total += loss.item()
    return total, {name: parameter.grad for name, parameter in own.items()}


def norm(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Root mean square norm in the precision of `x`."""
    return module.weight * x * torch.rsqrt(x.pow(2).mean(-1, True) + module.variance_epsilon)


def completion_logprobs(model: PeftModel, episode, device: str) -> torch.Tensor:
    """Log-probabilities of a completion's tokens, `[tokens]`."""
    ids = torch.tensor([episode.ids], device=device)
    logits = model(input_ids=ids).logits[0, episode.prompt - 1 : -1].double()
    return torch.log_softmax(logits, -1).gather(1, ids[0, episode.prompt :, None])[:, 0]
