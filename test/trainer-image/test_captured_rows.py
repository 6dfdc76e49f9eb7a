"""Tier: unit. Rows of captured tokens, as trainers read them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from whetstone.captured_rows import captured_rows


def packed(values: list, kind: str) -> str:
    return base64.b64encode(np.asarray(values, kind).tobytes()).decode()


ROW = {
    "ids": packed([5, 6, 7, 8, 9, 10], "<i4"),
    "sampled": [[2, 1], [4, 2]],
    "logprobs": packed([-0.5, -1.25, 0.0], "<f4"),
}
EPISODE = {"id": "e1", "seed": 3, "trial": 1, "model": "base", "temperature": 0.5, "reward": 1, "rows": [ROW]}


def read(path: Path, *episodes: dict) -> list:
    path.write_text("".join(json.dumps(one) + "\n" for one in episodes))
    return list(captured_rows(path))


def test_a_row_has_ids_and_says_which_of_them_were_sampled(tmp_path: Path) -> None:
    [row] = read(tmp_path / "rows.jsonl", EPISODE)
    assert row.ids.tolist() == [5, 6, 7, 8, 9, 10]
    assert row.mask.tolist() == [False, False, True, False, True, True]
    assert row.logprobs.tolist() == [0, 0, -0.5, 0, -1.25, 0]
    assert (row.episode, row.seed, row.trial, row.temperature, row.reward) == ("e1", 3, 1, 0.5, 1)
    assert len(read(tmp_path / "rows.jsonl", EPISODE, {**EPISODE, "rows": [ROW, ROW]})) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"sampled": [[4, 3]]},
        {"sampled": [[4, 2], [2, 1]]},
        {"sampled": [[2, 2], [3, 1]]},
        {"sampled": [[0, 3]]},
        {"sampled": []},
        {"logprobs": packed([-0.5], "<f4")},
        {"logprobs": packed([-0.5, np.nan, 0], "<f4")},
        {"ids": packed([5, 6, 7, 8, 9, -1], "<i4")},
        {"ids": "no base64"},
        {"ids": None},
    ],
)
def test_parts_that_do_not_fit_together_are_refused_with_their_line(tmp_path: Path, change: dict) -> None:
    with pytest.raises(ValueError, match=r"rows\.jsonl, line 2"):
        read(tmp_path / "rows.jsonl", EPISODE, {**EPISODE, "rows": [{**ROW, **change}]})
