"""Tier: unit. What an iteration leaves to be read."""

from __future__ import annotations

import json
from pathlib import Path

from whetstone.train.loop.episode import Episode
from whetstone.train.loop.iteration_record import SHOWN_CHARACTERS, readable, rollout_figures, write_samples


def episodes() -> list[Episode]:
    made = [Episode(group, number, 7, 0) for group in range(3) for number in range(3)]
    for place, episode in enumerate(made):
        episode.ids, episode.prompt, episode.sampled = [1, 2, place], 2, [1]
        episode.reward, episode.turns = place / 10, 2
    made[0].truncated = True
    made[1].failed_calls = 1
    return made


def test_figures_of_the_rollouts() -> None:
    assert rollout_figures(episodes()) == {
        "meanTokens": 1.0,
        "maxTokens": 1,
        "meanTurns": 2.0,
        "truncatedShare": 1 / 9,
        "raisedShare": 0.0,
        "failedCallShare": round(1 / 18, 4),
        "callVariety": round(1 / 9, 4),
    }


def test_the_variety_of_calls_is_counted_within_a_task() -> None:
    made = episodes()
    for place, episode in enumerate(made):
        episode.task_seed = place // 3
        # The same two sequences in each task.
        episode.calls = [("look", "{}"), *([("pull", '{"lever":"left"}')] if place % 3 == 2 else [])]
    assert rollout_figures(made)["callVariety"] == round(6 / 9, 4)


def test_best_and_worst_are_kept_without_what_a_terminal_acts_on(tmp_path: Path) -> None:
    write_samples(tmp_path, 3, episodes(), lambda ids: f"\x1b[2J{ids}\u202e\r\n")
    rows = json.loads((tmp_path / "samples" / "iteration-0003.json").read_text())
    assert [row["reward"] for row in rows] == [0.2, 0.0, 0.5, 0.3]
    assert rows[1]["truncated"] is True
    assert rows[0]["completion"] == "\ufffd[2J[2]\ufffd\ufffd\n"
    assert [path.name for path in (tmp_path / "samples").iterdir()] == ["iteration-0003.json"]
    assert len(readable("x" * 100_000)) < SHOWN_CHARACTERS + 100


def test_a_long_text_is_shortened_between_whole_characters() -> None:
    family = "👨\u200d👩\u200d👧"
    shown = readable(f"a{family * 3000}")
    assert shown.replace(family, "").removeprefix("a").strip().startswith("[… 9")
    assert "\ufffd" not in shown


def test_a_folder_that_cannot_be_written_ends_no_training(tmp_path: Path) -> None:
    (tmp_path / "samples").write_text("in the way")
    write_samples(tmp_path, 1, episodes(), str)
