"""Tier: integration. Options of the update, one step at a time: decision turns, references, minibatches."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fixtures.steps import open_rollouts, open_trainer, take_step
from fixtures.trainer import FIXTURES, LETTERS
from whetstone.chat import ToolCall
from whetstone.chat.renderer import Reply
from whetstone.engine import Weights
from whetstone.train.loop.rollouts import Rollouts
from whetstone.train.loss.loss_mask import TurnSpan

COACH = FIXTURES / "coach.py"


def test_only_decisions_are_in_the_loss(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected = Rollouts.collect

    def second_turn_decides(self, iteration: int):
        episodes = collected(self, iteration)
        for episode in episodes[1:]:
            episode.spans = [TurnSpan(s.start, s.end, n == 1) for n, s in enumerate(episode.spans)]
        return episodes

    monkeypatch.setattr(Rollouts, "collect", second_turn_decides)
    with open_trainer(tiny_dir, tmp_path, [COACH], decisionTurnsOnly=True, dropConstantGroups=False) as trainer:
        inputs = trainer._prepare_inputs([{"prompt": ""}] * 8)
    first, *others = trainer.episodes
    assert inputs["tool_mask"][0, : len(first.sampled)].tolist() == first.sampled
    for row, episode in enumerate(others, 1):
        expected = [0] * len(episode.sampled)
        for span in episode.spans[1:]:
            expected[span.start : span.end] = [1] * (span.end - span.start)
        assert inputs["tool_mask"][row, : len(expected)].tolist() == expected
    counted = (inputs["tool_mask"] * inputs["completion_mask"]).sum()
    assert inputs["num_items_in_batch"] == counted < sum(sum(episode.sampled) for episode in trainer.episodes)


def test_references_are_rendered_as_rollouts_are(tiny_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    with open_rollouts(tiny_dir, tmp_path, [LETTERS, COACH]) as rollouts:
        found = rollouts._references.play([(1, 104), (1, 104), (1, 105), (0, 101)])
        decode = rollouts._renderer.chat.decode
        called = Reply("", None, (ToolCall("get_item", "{}"),), closed=True, begins_call=True)
        suffix = rollouts._renderer.bridge(called, ["done with item 1"])
    assert len(found) == 1
    call = '<tool_call>{"name":"get_item","arguments":{"item":"4"}}</tool_call><|im_end|>'
    prompt = "<|im_start|>user\nput item 4 on shelf b please<|im_end|>\n<|im_start|>assistant\n"
    assert decode(found[0].ids) == prompt + call + decode(suffix) + call
    completion = found[0].ids[found[0].prompt :]
    assert decode([token for token, own in zip(completion, found[0].taught, strict=True) if own]) == call * 2
    # One line for each environment: the letters' references are empty, seed 105's does half of the work.
    said = capsys.readouterr().err.splitlines()
    assert [line.partition("not taught: ")[2] for line in said] == ["it earns 0 and not 1", "it earns 0 and not 1"]


@pytest.mark.parametrize("tree", [True, False])
def test_supervised_loss_is_the_cross_entropy_of_the_references(
    tree: bool, tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not tree:
        monkeypatch.setattr(Weights.__init__, "__defaults__", ("cpu", 0))
    constant = tmp_path / "constant.py"
    scored = "return 1.0 if len(trajectory) == 2 and all('call' in entry for entry in trajectory) else 0.0"
    constant.write_text(
        COACH.read_text() + f"\n    @staticmethod\n    def evaluate(trajectory, task):\n        {scored}\n"
    )
    with open_trainer(tiny_dir, tmp_path, [constant], supervisedWeight=2.0) as trainer:
        gradients = take_step(trainer)
        assert {episode.reward for episode in trainer.episodes} == {0.0}
        references = trainer._rollouts.references(trainer.episodes)
        assert len(references) == 2
        terms = []
        for one in references:
            logits = trainer.model(input_ids=torch.tensor([one.ids])).logits[0, :-1]
            places = [one.prompt + place for place, own in enumerate(one.taught) if own]
            terms += [-torch.log_softmax(logits, -1)[place - 1, one.ids[place]] for place in places]
        expected = 2 * torch.stack(terms).mean()
        wanted = torch.autograd.grad(expected, [p for p in trainer.model.parameters() if p.requires_grad])
    assert trainer.step_loss == pytest.approx(expected.item(), abs=1e-4)
    assert trainer.step_kl == 0.0
    for ours, theirs in zip(gradients, wanted, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4, rtol=1e-3)


def one_step(tiny: Path, output: Path, tokens: int) -> tuple[list[torch.Tensor], float, float, list[int]]:
    """Gradients, loss, KL and the rows of each pass."""
    with open_trainer(tiny, output, [COACH], updateTokens=tokens, supervisedWeight=0.5) as trainer:
        passes, compute = [], trainer.compute_loss

        def counted(model, inputs, *rest, **more):
            passes.append(len(inputs["prompt_ids"]))
            return compute(model, inputs, *rest, **more)

        trainer.compute_loss = counted
        return take_step(trainer), trainer.step_loss, trainer.step_kl, passes


@pytest.mark.parametrize("tree", [True, False])
def test_minibatches_make_the_same_step(
    tree: bool, tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not tree:
        monkeypatch.setattr(Weights.__init__, "__defaults__", ("cpu", 0))
    gradients, loss, kl, passes = one_step(tiny_dir, tmp_path, 0)
    assert passes == [8, 2]
    assert kl > 0
    for tokens, fewest, most in ((200, 3, 9), (1, 10, 10)):
        others, other_loss, other_kl, passes = one_step(tiny_dir, tmp_path, tokens)
        assert fewest <= len(passes) <= most
        assert sum(passes) == 10
        assert other_loss == pytest.approx(loss, abs=1e-5)
        assert other_kl == pytest.approx(kl, abs=1e-5)
        assert all(torch.allclose(one, other, atol=1e-5, rtol=0) for one, other in zip(gradients, others, strict=True))
