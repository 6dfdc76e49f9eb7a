"""Tier: integration. Rollouts with hints, and the turns of a rollout."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.steps import adapt, open_rollouts
from fixtures.trainer import FIXTURES, LETTERS
from whetstone.train.loop.episode import Episode, unaided
from whetstone.train.loop.hints import with_hints

COACH = FIXTURES / "coach.py"


def collect(tiny: Path, adapter: Path, output: Path, environment: Path, **algorithm: object):
    """Episodes of iteration 3 and the prompts that the engine was given."""
    prompts = []
    with open_rollouts(tiny, output, [environment], **algorithm) as rollouts:
        adapt(rollouts, tiny, adapter)
        sample = rollouts._sampler.sample

        def noted(requests):
            prompts.extend(one.prompt for one in requests)
            return sample(requests)

        rollouts._sampler.sample = noted
        return rollouts.collect(3).episodes, prompts, rollouts._renderer.chat


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
            sum(rollouts._hints._drawn(0, Episode(group, number, 0, 0)) for number in range(4)) for group in range(400)
        ]
    assert set(drawn) == counts
    assert sum(drawn) / 400 == pytest.approx(mean, abs=0.08)


def test_environment_without_hints_is_said_once(
    tiny_dir: Path, adapter_dirs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    with open_rollouts(tiny_dir, tmp_path, [LETTERS], hintShare=1.0) as rollouts:
        adapt(rollouts, tiny_dir, adapter_dirs[0])
        first, _ = rollouts.collect(0).episodes, rollouts.collect(1)
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
