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
from whetstone.train.loss.advantages import own_baselines
from whetstone.train.loss.divergence import Diverged
from whetstone.train.loss.loss_mask import TurnSpan

COACH = FIXTURES / "coach.py"


def test_only_decisions_are_in_the_loss(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected = Rollouts.collect

    def second_turn_decides(self, iteration: int):
        found = collected(self, iteration)
        for episode in found.episodes[1:]:
            episode.spans = [TurnSpan(s.start, s.end, n == 1) for n, s in enumerate(episode.spans)]
        return found

    monkeypatch.setattr(Rollouts, "collect", second_turn_decides)
    with open_trainer(tiny_dir, tmp_path, [COACH], decisionTurnsOnly=True, dropConstantGroups=False) as trainer:
        inputs = trainer._prepare_inputs([{"prompt": ""} for _ in range(8)])
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


def one_step(
    tiny: Path, output: Path, tokens: int, **options: object
) -> tuple[list[torch.Tensor], float, float, list[int]]:
    """Gradients, loss, KL and the rows of each pass."""
    with open_trainer(tiny, output, [COACH], updateTokens=tokens, supervisedWeight=0.5, **options) as trainer:
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


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "bnpo"])
def test_minibatches_make_the_same_step_with_every_loss(loss: str, tiny_dir: Path, tmp_path: Path) -> None:
    gradients, whole, _, passes = one_step(tiny_dir, tmp_path, 0, lossType=loss)
    others, parts, _, more = one_step(tiny_dir, tmp_path, 200, lossType=loss)
    assert len(more) > len(passes)
    assert parts == pytest.approx(whole, abs=1e-5)
    assert any(bool(one.abs().max() > 0) for one in gradients)
    assert all(torch.allclose(one, other, atol=1e-5, rtol=0) for one, other in zip(gradients, others, strict=True))


def test_the_loss_type_changes_the_step(tiny_dir: Path, tmp_path: Path) -> None:
    ours, theirs = (one_step(tiny_dir, tmp_path, 0, lossType=loss)[0] for loss in ("dapo", "dr_grpo"))
    assert not all(torch.allclose(one, other, atol=1e-6) for one, other in zip(ours, theirs, strict=True))


def test_rollouts_with_hints_have_a_baseline_of_their_own() -> None:
    kinds = [(0, True), (0, True), (0, False), (0, False), (1, True)]
    own = own_baselines([1.0, 1.0, 0.5, 0.0, 1.0], kinds, scaled=True)
    assert own[:2].tolist() == [0, 0]
    assert own[2] == -own[3] > 0.7
    assert own[4] == 0
    assert own_baselines([1.0, 1.0, 0.5, 0.0, 1.0], kinds, scaled=False).tolist() == [0, 0, 0.25, -0.25, 0]


def test_hinted_groups_without_a_difference_of_their_own_are_dropped(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collected = Rollouts.collect

    def hints_decide(self, iteration: int):
        found = collected(self, iteration)
        for episode in found.episodes:
            episode.reward = 1.0 if episode.shown else 0.0
        return found

    monkeypatch.setattr(Rollouts, "collect", hints_decide)
    for own, rows in ((False, 8), (True, None)):
        with open_trainer(tiny_dir, tmp_path, [COACH], hintShare=0.5, hintBaseline=own) as trainer:
            inputs = trainer._prepare_inputs([{"prompt": ""} for _ in range(8)])
        assert (inputs and len(inputs["prompt_ids"])) == rows


def test_rollouts_that_were_cut_teach_nothing_where_asked(tiny_dir: Path, tmp_path: Path) -> None:
    sizes = {}
    for mask in (False, True):
        with open_trainer(tiny_dir, tmp_path, [COACH], maskTruncated=mask, dropConstantGroups=False) as trainer:
            inputs = trainer._prepare_inputs([{"prompt": ""} for _ in range(8)])
        sizes[mask] = len(inputs["prompt_ids"]) if inputs else 0
        whole = sum(not episode.truncated for episode in trainer.episodes)
    assert sizes == {False: 8, True: whole}
    assert whole < 8


def test_the_policy_may_move_only_so_far(tiny_dir: Path, tmp_path: Path) -> None:
    with open_trainer(tiny_dir, tmp_path, [COACH], maxKl=1e-6) as trainer:
        with pytest.raises(Diverged, match=r"nats a token away.*maxKl is 1e-06"):
            take_step(trainer)


def test_a_step_with_checkpointing_is_the_same(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Weights.__init__, "__defaults__", ("cpu", 0))
    plain = one_step(tiny_dir, tmp_path, 0)
    again = one_step(tiny_dir, tmp_path, 0, gradientCheckpointing=True, attention="eager")
    assert again[1] == pytest.approx(plain[1], abs=1e-5)
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(plain[0], again[0], strict=True))
