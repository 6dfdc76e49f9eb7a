"""Tier: unit. Log-probabilities with a shared beginning, and their gradients, against TRL's own way; who shares."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
import torch
import transformers
from fixtures.families import FAMILIES, make_checkpoint
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM
from trl.trainer.utils import add_fused_lm_head
from whetstone.train.job import Algorithm
from whetstone.train.loop.trl_settings import make_lora
from whetstone.train.loss.shared_prompt import Part, make_parts, shared_logprobs, shares_prompts

SHARING = ("llama-3.2", "qwen2.5", "qwen3", "qwen3-moe", "mistral", "gpt-oss", "smollm3")
# Of eight rollouts in two groups: their prompts' own ends, and their completions.
PROMPT_ENDS, COMPLETIONS = (3, 2), (9, 1, 14, 6, 3, 11, 5, 8)
BEGINNING = 40


def make_policy(directory: Path) -> PeftModel:
    """The checkpoint with TRL's fused head and a random adapter."""
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    add_fused_lm_head(model, temperature=0.7, outputs=("log_probs", "entropy"))
    policy = get_peft_model(model, make_lora(Algorithm(rank=4, alpha=8)))
    for name, parameter in policy.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.05)
    return policy


def make_rows(beginning: int = BEGINNING) -> tuple[list[list[int]], list[int]]:
    """Token sequences and the lengths of their prompts. The groups' rollouts stand in turns."""
    rng = random.Random(0)

    def draw(count: int) -> list[int]:
        return [rng.randrange(20, 500) for _ in range(count)]

    common = draw(beginning)
    prompts = [common + draw(count) for count in PROMPT_ENDS]
    rows = [prompts[number % 2] + draw(count) for number, count in enumerate(COMPLETIONS)]
    return rows, [len(prompts[number % 2]) for number in range(len(rows))]


def padded(rows: list[list[int]], prompts: list[int]) -> tuple[torch.Tensor, torch.Tensor, int]:
    """The rows as TRL pads them: token ids, attention mask, and the number of columns of the completions."""
    before, behind = max(prompts), max(len(row) - prompt for row, prompt in zip(rows, prompts, strict=True))
    ids, present = torch.zeros(len(rows), before + behind, dtype=torch.long), []
    for number, (row, prompt) in enumerate(zip(rows, prompts, strict=True)):
        start = before - prompt
        ids[number, start : start + len(row)] = torch.tensor(row)
        present.append([int(start <= place < start + len(row)) for place in range(before + behind)])
    return ids, torch.tensor(present), behind


def library_logprobs(
    policy: PeftModel, ids: torch.Tensor, attention: torch.Tensor, completion: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and entropies as TRL computes them."""
    labels = ids.masked_fill(attention == 0, -100)
    labels[:, :-completion] = -100
    out = policy(input_ids=ids, attention_mask=attention, labels=labels, fused_lm_head=True)
    return out.log_probs[:, -completion:], out.entropy[:, -completion:]


def read_tokens(policy: PeftModel) -> list[int]:
    """Counts the places, padding included, of each pass from now on."""
    passes: list[int] = []
    policy.get_input_embeddings().register_forward_hook(lambda _, given, __: passes.append(given[0].numel()))
    return passes


@pytest.mark.parametrize("family", SHARING)
def test_values_and_gradients_are_those_of_the_library(family: str, tmp_path: Path) -> None:
    policy = make_policy(make_checkpoint(FAMILIES[family], tmp_path))
    assert shares_prompts(policy)
    rows, prompts = make_rows()
    ids, attention, completion = padded(rows, prompts)
    weigh = torch.linspace(-1, 2, len(rows) * completion).view(len(rows), completion)
    factors = [one for one in policy.parameters() if one.requires_grad]
    expected, entropies = library_logprobs(policy, ids, attention, completion)
    gradients = torch.autograd.grad((expected * weigh).sum(), factors)

    passes = read_tokens(policy)
    found = shared_logprobs(policy, ids, attention, completion, len(rows))
    assert found is not None
    assert passes == [BEGINNING, len(rows) * (max(map(len, rows)) - BEGINNING)]
    assert torch.allclose(found[0], expected, atol=1e-4)
    assert torch.allclose(found[1], entropies, atol=1e-4)
    assert not found[0][attention[:, -completion:] == 0].any()
    size = max(float(one.abs().max()) for one in gradients)
    assert size > 0.1
    for ours, theirs in zip(torch.autograd.grad((found[0] * weigh).sum(), factors), gradients, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4 * size, rtol=1e-3)

    with torch.no_grad(), policy.disable_adapter():
        base, _ = library_logprobs(policy, ids, attention, completion)
        in_batches = shared_logprobs(policy, ids, attention, completion, 3)
    assert in_batches is not None
    assert torch.allclose(in_batches[0], base, atol=1e-4)
    assert not torch.allclose(base, expected, atol=1e-2)


def test_without_a_common_beginning_each_group_shares_its_own(tmp_path: Path) -> None:
    policy = make_policy(make_checkpoint(FAMILIES["qwen3"], tmp_path))
    rows, prompts = make_rows()
    # The groups' system messages differ from their first token on.
    rows = [[5 + number % 2, *row] for number, row in enumerate(rows)]
    ids, attention, completion = padded(rows, [prompt + 1 for prompt in prompts])
    passes = read_tokens(policy)
    found = shared_logprobs(policy, ids, attention, completion, len(rows))
    assert found is not None
    longest = [max(COMPLETIONS[group::2]) + 1 for group in range(2)]
    shared = [BEGINNING + count for count in PROMPT_ENDS]
    assert passes == [shared[0], 4 * longest[0], shared[1], 4 * longest[1]]
    assert torch.allclose(found[0], library_logprobs(policy, ids, attention, completion)[0], atol=1e-4)


def test_parts() -> None:
    alike = [[1, 2, 3, 4, place] for place in range(5, 9)]
    # The prompt's last token is read with the completion that it predicts.
    assert make_parts(alike, [4] * 4) == [Part([0, 1, 2, 3], 3)]
    assert make_parts(alike, [1] * 4) is None
    assert make_parts([[number, 2, 3, 4, 5] for number in range(4)], [4] * 4) is None
    # Less padding alone is no reason for passes of their own.
    assert make_parts([[number, *range(5 + 9 * number)] for number in range(4)], [4] * 4) is None
    mixed = [[7, *range(20), 1], [8, *range(20), 1], [7, *range(20), 2]]
    assert make_parts(mixed, [21] * 3) == [Part([0, 2], 20), Part([1], 0)]
    assert make_parts(alike[:1], [4]) is None


def test_rollouts_without_much_in_common_are_left_to_the_library(tmp_path: Path) -> None:
    policy = make_policy(make_checkpoint(FAMILIES["qwen3"], tmp_path))
    rows, prompts = make_rows(beginning=0)
    rows = [[10 + number, *row] for number, row in enumerate(rows)]
    passes = read_tokens(policy)
    assert shared_logprobs(policy, *padded(rows, [prompt + 1 for prompt in prompts]), len(rows)) is None
    assert passes == []


def changed(name: str, **more: object):
    family = FAMILIES[name]
    return dataclasses.replace(family, more=family.more | more)


SHORT_WINDOW = {"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 1}
LENGTH_DEPENDENT = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
NOT_SHARING = {
    "sliding window in each layer": changed("mistral", sliding_window=8),
    "sliding window in some layers": changed("qwen2.5", **SHORT_WINDOW),
    "gemma's sliding window": FAMILIES["gemma-3"],
    "convolution": FAMILIES["lfm2"],
    "loss of the router": changed("qwen3-moe", output_router_logits=True),
    "frequencies that depend on the length": changed("qwen3", rope_parameters=LENGTH_DEPENDENT),
}


@pytest.mark.parametrize("family", NOT_SHARING.values(), ids=NOT_SHARING)
def test_others_do_not_share(family, tmp_path: Path) -> None:
    assert not shares_prompts(make_policy(make_checkpoint(family, tmp_path)))


@pytest.mark.parametrize(
    "config",
    [
        transformers.MambaConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1),
        transformers.Qwen3NextConfig(vocab_size=50, hidden_size=32, num_hidden_layers=4, num_experts=2),
    ],
    ids=["state space", "linear attention"],
)
def test_models_with_a_state_do_not_share(config: transformers.PreTrainedConfig) -> None:
    lora = LoraConfig(r=1, target_modules=["in_proj", "q_proj"], task_type="CAUSAL_LM")
    assert not shares_prompts(get_peft_model(AutoModelForCausalLM.from_config(config), lora))


def test_neither_gradient_checkpointing_nor_another_attention_shares(tmp_path: Path) -> None:
    policy = make_policy(make_checkpoint(FAMILIES["qwen3"], tmp_path))
    assert shares_prompts(policy)
    policy.get_base_model().activation_checkpointing_enable()
    assert not shares_prompts(policy)
    policy.get_base_model().activation_checkpointing_disable()
    policy.set_attn_implementation("eager")
    assert shares_prompts(policy)
    policy.set_attn_implementation("flex_attention")
    assert not shares_prompts(policy)
