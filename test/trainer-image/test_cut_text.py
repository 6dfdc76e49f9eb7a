"""Tier: unit. Shortening text."""

from __future__ import annotations

import json

import pytest
from whetstone.cut_text import end_of, start_of, text_of_end

WHOLE = {
    "a flag": "🇩🇪",
    "a family": "👨‍👩‍👧‍👦",
    "a tone of skin": "👍🏽",
    "a flag of tags": "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "a key": "1️⃣",
    "accents": "e\u0301\u0327",
    "a syllable": "क्षि",
    "jamo": "\u1112\u1161\u11ab",
    "the end of a line": "\r\n",
    "an escaped emoji": json.dumps("😀")[1:-1],
    "an escaped line end": "\\n",
    "escaped backslashes": "\\\\",
    "an escape of Python": repr("\x1b")[1:-1],
}


@pytest.mark.parametrize("whole", WHOLE.values(), ids=WHOLE.keys())
def test_nothing_that_belongs_together_is_cut(whole):
    text = f"ab{whole * 2}yz"
    places = [0, 1, 2, 2 + len(whole), 2 + 2 * len(whole), 3 + 2 * len(whole), len(text)]
    for most in range(len(text) + 2):
        start, end = start_of(text, most), end_of(text, most)
        assert len(start) == max(place for place in places if place <= most)
        assert len(end) == max(len(text) - place for place in places if len(text) - place <= most)
        assert text.startswith(start) and text.endswith(end)


def test_the_end_of_bytes_has_no_rest_of_a_character():
    data = "aé€😀z".encode()
    for start in range(len(data) + 1):
        assert "\ufffd" not in text_of_end(data[start:])
    assert text_of_end(b"") == ""
