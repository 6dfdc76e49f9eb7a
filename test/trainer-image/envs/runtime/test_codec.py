"""Tier: unit. The runtime's JSON: what it refuses, and that it agrees with Python's own."""

from __future__ import annotations

import json

import pytest
from whetstone.envs.runtime import codec


@pytest.mark.parametrize("text", ["", "nope", "NaN", "[1, -Infinity]", '{"a": 1} 2', "[1,]", '"a', "[" * 100_000])
def test_codec_refuses_what_is_not_json(text):
    with pytest.raises((ValueError, RecursionError)):
        codec.decode(text)


def test_codec_agrees_with_json():
    value = {"a": [1, -2.5e10, True, None, 'é\u2028\x00"\\'], "b": {"c": {}}, "10": 2**70}
    assert json.loads(codec.encode(value)) == value
    assert codec.decode(json.dumps(value)) == value
    assert codec.encode({1: 2.0, None: "x"}) == json.dumps({1: 2.0, None: "x"}, separators=(",", ":"))
    for refused in ({1}, b"x", float("nan"), {(1, 2): 3}):
        with pytest.raises((TypeError, ValueError)):
            codec.encode(refused)
