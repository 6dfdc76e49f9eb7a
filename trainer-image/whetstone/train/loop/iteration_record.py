"""The record of an iteration: lengths, truncated replies, failed calls, clipping, and some rollouts for people."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from whetstone.cut_text import end_of, start_of

if TYPE_CHECKING:
    from .episode import Episode

# Number of an iteration's rollouts that are kept for people, and of characters of each; the middle of a longer one is
# omitted.
SHOWN_ROLLOUTS, SHOWN_CHARACTERS = 4, 6000
# Characters that move a terminal's cursor, hide text or change its direction. Scripts and emoji need the joiners.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
    r"|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
# TRL's name of each figure of the loss, and our name.
MEASURED = {"entropy": "entropy", "clip_ratio/region_mean": "clippedShare"}


def rollout_figures(episodes: list[Episode]) -> dict[str, float]:
    """Figures of an iteration's rollouts: sampled tokens, shares of truncated and failed rollouts, failed calls.

    `failedCallShare` is the share of turns that begin a call which is not well-formed. `callVariety` is the number of
    different sequences of calls among the rollouts of a task, as a share of these rollouts; 1: no two are alike.
    """
    lengths = [sum(episode.sampled) for episode in episodes]
    turns = sum(episode.turns for episode in episodes)
    sequences = {(episode.environment, episode.task_seed, *episode.calls) for episode in episodes}
    return {
        "meanTokens": round(sum(lengths) / len(lengths), 2),
        "maxTokens": max(lengths),
        "meanTurns": round(turns / len(episodes), 3),
        "truncatedShare": sum(episode.truncated for episode in episodes) / len(episodes),
        "raisedShare": sum(episode.raised is not None for episode in episodes) / len(episodes),
        "failedCallShare": round(sum(episode.failed_calls for episode in episodes) / max(1, turns), 4),
        "callVariety": round(len(sequences) / len(episodes), 4),
    }


def measured_figures(metrics: dict[str, list[float]]) -> dict[str, float]:
    """TRL's figures, as means over an iteration's minibatches."""
    return {ours: sum(values) / len(values) for theirs, ours in MEASURED.items() if (values := metrics.get(theirs, []))}


def write_samples(directory: Path, iteration: int, episodes: list[Episode], decode: Callable[[list[int]], str]) -> None:
    """Writes some rollouts of an iteration to `samples/iteration-NNNN.json`: the best and the worst of its first
    groups.

    A file that cannot be written is skipped, because the training does not need it.
    """
    shown = []
    for group in range(SHOWN_ROLLOUTS // 2):
        members = sorted((one for one in episodes if one.group == group), key=lambda one: one.reward)
        shown += [members[-1], members[0]] if len(members) > 1 else members
    rows = [
        {
            "task": episode.task_seed,
            "reward": episode.reward,
            "truncated": episode.truncated,
            "hints": bool(episode.shown),
            "raised": episode.raised and readable(episode.raised),
            "prompt": readable(decode(episode.ids[: episode.prompt])),
            "completion": readable(decode(episode.ids[episode.prompt :])),
        }
        for episode in shown
    ]
    folder = directory / "samples"
    try:
        folder.mkdir(exist_ok=True)
        temporary = folder / f".iteration-{iteration:04d}.json"
        temporary.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        os.replace(temporary, folder / f"iteration-{iteration:04d}.json")
    except OSError:
        return


def readable(text: str) -> str:
    """The text without characters that a terminal would interpret, and without the middle of a long text."""
    clean = _CONTROL.sub("\ufffd", text)
    if len(clean) <= SHOWN_CHARACTERS:
        return clean
    start, end = start_of(clean, SHOWN_CHARACTERS // 2), end_of(clean, SHOWN_CHARACTERS // 2)
    return f"{start}\n[… {len(clean) - len(start) - len(end)} characters left out …]\n{end}"
