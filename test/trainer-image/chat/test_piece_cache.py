"""Tier: unit. The cache of token ids is bounded by memory, not by the number of texts."""

from __future__ import annotations

from whetstone.chat.piece_cache import PieceCache


def test_long_texts_do_not_grow_the_cache_without_bound() -> None:
    calls: list[int] = []

    def encode(text: str) -> list[int]:
        calls.append(len(text))
        return [1] * len(text)

    cache = PieceCache(encode, 1_000_000)
    for index in range(300):
        assert len(cache(f"{index:05d}" + "x" * 995)) == 1000
    assert 500_000 < cache.bytes <= 1_000_000
    assert cache("00299" + "x" * 995) == [1] * 1000
    assert len(calls) == 300
    assert "00000" + "x" * 995 not in cache
    assert len(cache("y" * 50_000)) == 50_000
    assert "y" * 50_000 not in cache
    assert cache.bytes <= 1_000_000
