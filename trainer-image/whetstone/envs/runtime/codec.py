"""JSON for the protocol, with the interpreter's own C functions.

The ``json`` package compiles regular expressions at import, which would take a third of every start. The C functions
behind it only need the settings below. Since private references hold them, they survive an environment that patches
``json``.
"""

import _json

from .limits import MAX_DEPTH


def _refuse_object(value):
    raise TypeError(f"{type(value).__name__} is not JSON")


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


class _DecoderSettings:
    """The settings that the C scanner reads from a ``JSONDecoder``, which usually creates it."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = staticmethod(_refuse_constant)


def _make_encoder():
    chunks = _json.make_encoder(None, _refuse_object, _json.encode_basestring, None, ":", ",", False, False, False)
    join = "".join
    return lambda value: join(chunks(value, 0))


def _make_decoder():
    scan = _json.make_scanner(_DecoderSettings())

    def decode(text):
        text = text.strip()
        try:
            value, end = scan(text, 0)
        except StopIteration as stop:
            raise ValueError(f"no JSON value at character {stop.value}") from None
        if end != len(text):
            raise ValueError(f"text after the JSON document at character {end}")
        return value

    return decode


encode = _make_encoder()
"""encode(value) -> str, compact. Raises TypeError for foreign types, ValueError for NaN and Infinity, RecursionError
for cycles."""

decode = _make_decoder()
"""decode(str) -> value. Raises ValueError for what is not one JSON document, NaN and Infinity included."""


def check_depth(text):
    """Raises ValueError for JSON text with deeper nesting than MAX_DEPTH, because later readers may walk it
    recursively.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth, in_string, escaped = 0, False, False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise ValueError(f"it nests deeper than {MAX_DEPTH}")
        elif character in "]}":
            depth -= 1
