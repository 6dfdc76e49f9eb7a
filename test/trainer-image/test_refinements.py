"""Tier: integration. Options of the update: hints, decision turns, references, minibatches. One step at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fixtures.steps import adapt, open_rollouts, open_trainer, take_step
from fixtures.trainer import FIXTURES, LETTERS
from whetstone.train import grpo
from whetstone.train.decisions import TurnSpan
from whetstone.train.hints import unaided, with_hints

COACH = FIXTURES / "coach.py"


def collect(tiny: Path, adapter: Path, output: Path, environment: Path, **algorithm: object):
    """Episodes of iteration 3 and the prompts that the engine was given."""
    prompts = []
    with open_rollouts(tiny, output, [environment], **algorithm) as rollouts:
        adapt(rollouts, adapter)
        run = rollouts._engine.run
        rollouts._engine.run = lambda requests: (prompts.extend(list(one.prompt) for one in requests), run(requests))
        return rollouts.collect(3), prompts, rollouts._chat


def test_hints_are_read_by_a_share_and_not_in_what_is_learned(
    tiny_dir: Path, adapter_dirs: list[Path], tmp_path: Path
) -> None:
    plain, _, _ = collect(tiny_dir, adapter_dirs[0], tmp_path, COACH)
    aided, prompts, chat = collect(tiny_dir, adapter_dirs[0], tmp_path, COACH, hintShare=0.5)
    again, _, _ = collect(tiny_dir, adapter_dirs[0], tmp_path, COACH, hintShare=0.5)
    assert aided == again
    assert [sum(bool(e.shown) for e in aided if e.group == group) for group in (0, 1)] == [2, 2]
    for place, (episode, other) in enumerate(zip(aided, plain, strict=True)):
        assert episode.ids[: episode.prompt] == other.ids[: other.prompt]
        assert len(episode.sampled) == len(episode.ids) - episode.prompt
        if episode.shown:
            item = episode.task_seed % 10
            assert f"please\n\nHints:\n- get item {item}\n- do it twice<|im_end|>" in chat.decode(prompts[place])
            # The second turn still reads them, before the same completion.
            second = next(prompt for prompt in prompts[8:] if prompt[: len(episode.shown)] == episode.shown)
            assert len(second) > len(episode.shown)
            assert episode.read[len(episode.shown) :] == episode.ids[episode.prompt :]
        else:
            assert episode == other
    assert unaided(aided) == [episode for episode in aided if not episode.shown]
    assert unaided([episode for episode in aided if episode.shown])


@pytest.mark.parametrize(
    ("share", "counts", "mean"), [(0.3, {1, 2}, 1.2), (0.25, {1}, 1), (1.0, {4}, 4), (0.1, {0, 1}, 0.4)]
)
def test_share_holds_in_every_group_and_on_average(
    share: float, counts: set[int], mean: float, tiny_dir: Path, tmp_path: Path
) -> None:
    with open_rollouts(tiny_dir, tmp_path, [COACH], hintShare=share, groups=100) as rollouts:
        drawn = [
            sum(rollouts._hints._drawn(0, grpo.Episode(group, number, 0, 0)) for number in range(4))
            for group in range(400)
        ]
    assert set(drawn) == counts
    assert sum(drawn) / 400 == pytest.approx(mean, abs=0.08)


def test_environment_without_hints_is_said_once(
    tiny_dir: Path, adapter_dirs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    with open_rollouts(tiny_dir, tmp_path, [LETTERS], hintShare=1.0) as rollouts:
        adapt(rollouts, adapter_dirs[0])
        first, _ = rollouts.collect(0), rollouts.collect(1)
    assert capsys.readouterr().err == "whetstone.train: environment letters has no hints; it trains without\n"
    assert not any(episode.shown for episode in first)


def test_hints_end_the_last_message_of_the_user() -> None:
    opening = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, {"role": "system", "content": "t"}]
    assert [message["content"] for message in with_hints(opening, ["a"])] == ["s", "u\n\nHints:\n- a", "t"]
    assert with_hints(opening[:1], ["a"]) == [{"role": "system", "content": "s\n\nHints:\n- a"}]


def test_turns_cover_the_tokens_of_the_agent(tiny_dir: Path, adapter_dirs: list[Path], tmp_path: Path) -> None:
    episodes, _, _ = collect(tiny_dir, adapter_dirs[0], tmp_path, COACH)
    for episode in episodes:
        assert len(episode.spans) == episode.turns
        covered = [0] * len(episode.sampled)
        for span in episode.spans:
            covered[span.start : span.end] = [1] * (span.end - span.start)
        assert covered == episode.sampled


def test_only_decisions_are_in_the_loss(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collected = grpo.Rollouts.collect

    def second_turn_decides(self, iteration: int):
        episodes = collected(self, iteration)
        for episode in episodes[1:]:
            episode.spans = [TurnSpan(s.start, s.end, n == 1) for n, s in enumerate(episode.spans)]
        return episodes

    monkeypatch.setattr(grpo.Rollouts, "collect", second_turn_decides)
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
        decode = rollouts._chat.decode
        suffix = rollouts._suffix("tool", ["done with item 1"], True)
    assert len(found) == 1
    call = '<tool_call>{"name":"get_item","arguments":{"item":"4"}}</tool_call><|im_end|>'
    prompt = "<|im_start|>user\nput item 4 on shelf b please<|im_end|>\n<|im_start|>assistant\n"
    assert decode(found[0].ids) == prompt + call + decode(suffix) + call
    completion = found[0].ids[found[0].prompt :]
    assert decode([token for token, own in zip(completion, found[0].taught, strict=True) if own]) == call * 2
    # One line for each environment: the letters' references are empty, seed 105's does half of the work.
    said = capsys.readouterr().err.splitlines()
    assert [line.partition("not taught: ")[2] for line in said] == ["it earns 0 and not 1", "it earns 0 and not 1"]


@pytest.mark.parametrize("packed", [True, False])
def test_supervised_loss_is_the_cross_entropy_of_the_references(
    packed: bool, tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not packed:
        monkeypatch.setattr(grpo.Engine.__init__.__globals__["Weights"].__init__, "__defaults__", ("cpu", 0))
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


@pytest.mark.parametrize("packed", [True, False])
def test_minibatches_make_the_same_step(
    packed: bool, tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not packed:
        monkeypatch.setattr(grpo.Engine.__init__.__globals__["Weights"].__init__, "__defaults__", ("cpu", 0))
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
