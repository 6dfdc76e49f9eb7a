"""Shortening text for a reader, as `startOf` and `endOf` of contracts/clean-text.ts do."""

import re
import unicodedata

_JOINER = "\u200d"
# Two of them are a flag.
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
# Escapes of JSON and Python, which mean something only as a whole.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}|.)", re.DOTALL
)
_LONGEST_ESCAPE = 12


def start_of(text: str, most: int) -> str:
    """The beginning of a text: at most `most` characters, and less where a grapheme or an escape would be cut."""
    at = min(most, len(text))
    while 0 < at < len(text) and _is_inside(text, at):
        at -= 1
    return text[:at]


def end_of(text: str, most: int) -> str:
    """The same for the end of a text."""
    at = max(0, len(text) - most)
    while 0 < at < len(text) and _is_inside(text, at):
        at += 1
    return text[at:]


def text_of_end(data: bytes) -> str:
    """The text of the last bytes of UTF-8 that was cut somewhere: what is left of a character in front is left out."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode("utf-8", "replace")


def _is_inside(text: str, at: int) -> bool:
    """Whether a cut before the character `at` would be inside a grapheme or an escape.

    Python has no list of graphemes. These are the rules of Unicode's annex 29 for marks, joiners, flags, syllables in
    parts and line ends.
    """
    before, after = text[at - 1], text[at]
    if before == "\r" and after == "\n":
        return True
    if before < "\u0300" and after < "\u0300":
        return _is_in_escape(text, at)
    if after == _JOINER or unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    if before == _JOINER or "\U000e0020" <= after <= "\U000e007f":
        return True
    # A consonant after the sign that takes the vowel of the one before.
    if unicodedata.combining(before) == 9 and unicodedata.category(after) == "Lo":
        return True
    # A Korean syllable in parts: its beginning, its vowel, its end.
    if (
        "\u1100" <= before <= ("\u115f" if "\u1100" <= after <= "\u115f" else "\u11ff")
        and "\u1100" <= after <= "\u11ff"
    ):
        return True
    return after in _FLAG_LETTERS and (at - len(text[:at].rstrip(_FLAG_LETTERS))) % 2 == 1


def _is_in_escape(text: str, at: int) -> bool:
    start = max(0, at - _LONGEST_ESCAPE)
    while start > 0 and text[start - 1] == "\\":
        start -= 1
    found = _ESCAPE.finditer(text, start, min(len(text), at + _LONGEST_ESCAPE))
    return any(one.start() < at < one.end() for one in found)
