"""Tier: unit. Log-probabilities over prefix trees and their gradients against transformers and PEFT."""

from __future__ import annotations

import random

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaForCausalLM
from whetstone.engine import Weights, live_adapter
from whetstone.train.loss.prefix_tree import PrefixTree, PrefixTreePolicy


def make_rows() -> tuple[list[list[int]], list[list[int]]]:
    """Sequences with shared prefixes, one a prefix of another, and the positions that count in each."""
    rng = random.Random(0)
    draw = lambda count: [rng.randrange(5, 300) for _ in range(count)]  # noqa: E731
    first, second = draw(12), draw(7)
    branch = first + draw(5)
    rows = [branch + draw(6), branch + draw(9), branch, first + draw(3), second + draw(20), second + draw(1)]
    wanted = [[i for i in range(5, len(row)) if i % 3] for row in rows]
    return rows, wanted


def test_tree_holds_each_prefix_once() -> None:
    tree = PrefixTree([[1, 2, 3], [1, 2, 4], [1, 2], [2, 2, 3]])
    assert tree.tokens == [1, 2, 3, 4, 2, 2, 3]
    assert tree.parents == [-1, 0, 1, 1, -1, 4, 5]
    assert tree.depths == [0, 1, 2, 2, 0, 1, 2]
    assert tree.paths == [[0, 1, 2], [0, 1, 3], [0, 1], [4, 5, 6]]


@pytest.mark.parametrize("name", ["tiny_dir", "grouped_dir"])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_and_gradients_equal_peft(name: str, temperature: float, request: pytest.FixtureRequest) -> None:
    directory = request.getfixturevalue(name)
    torch.manual_seed(1)
    config = LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM")
    model = get_peft_model(LlamaForCausalLM.from_pretrained(directory), config)
    for key, parameter in model.named_parameters():
        if "lora_B" in key:
            torch.nn.init.normal_(parameter, std=0.1)
    rows, wanted = make_rows()
    weigh = torch.linspace(-1, 2, sum(map(len, wanted)))
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]

    expected = []
    for row, places in zip(rows, wanted, strict=True):
        logits = model(torch.tensor([row])).logits[0, :-1] / temperature
        logprobs = torch.log_softmax(logits, -1).gather(1, torch.tensor(row[1:])[:, None])[:, 0]
        expected += [logprobs[place - 1] for place in places]
    expected = torch.stack(expected)
    gradients = torch.autograd.grad((expected * weigh).sum(), parameters)

    policy = PrefixTreePolicy(Weights.read(directory), live_adapter(model, 2.0).parts, 2.0, temperature)
    tree = PrefixTree(rows)
    targets = [tree.paths[row][place] for row, places in enumerate(wanted) for place in places]
    found = policy.logprobs(tree, targets, adapted=True)
    assert torch.allclose(found, expected, atol=1e-4)
    for ours, theirs in zip(torch.autograd.grad((found * weigh).sum(), parameters), gradients, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-3, rtol=1e-3)

    with torch.no_grad(), model.disable_adapter():
        base = torch.log_softmax(model(torch.tensor([rows[0]])).logits[0] / temperature, -1)
        found = policy.logprobs(PrefixTree(rows[:1]), wanted[0], adapted=False)
    assert torch.allclose(found, torch.stack([base[p - 1, rows[0][p]] for p in wanted[0]]), atol=1e-4)
