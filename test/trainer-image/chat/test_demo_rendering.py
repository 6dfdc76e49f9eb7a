"""Tier: unit. The demo's rollouts have the tokens that its model was taught, byte for byte."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest
from whetstone.chat.renderer import Renderer

DESK = Path(__file__).resolve().parents[3] / "examples/orders-desk"


@pytest.fixture(scope="module")
def corpus():
    sys.path.insert(0, str(DESK))
    yield importlib.import_module("corpus")
    sys.path.remove(str(DESK))


def test_rollouts_have_the_tokens_of_the_demonstrations(corpus, tmp_path: Path) -> None:
    transcripts = [corpus.demonstration(seed) for seed in range(40)]
    tokenizer = corpus.build_tokenizer(["".join(text for text, _ in one) for one in transcripts], 700)
    tokenizer.save_pretrained(tmp_path)
    renderer = Renderer(tmp_path)
    bridged = 0
    for transcript, (expected, _) in zip(transcripts, corpus.encode(tokenizer, transcripts), strict=True):
        opening = transcript[0][0].removeprefix(corpus.USER).partition(corpus.END)[0]
        ids = renderer.prompt([{"role": "user", "content": opening}], corpus.environment.Environment.tools())
        for place in range(1, len(transcript), 2):
            sampled = renderer.chat.encode(transcript[place][0])
            reply = renderer.read(ids, sampled, None)
            assert [(call.name, json.loads(call.arguments)) for call in reply.calls] or reply.content
            ids += sampled
            if place + 1 < len(transcript):
                ids += renderer.bridge(
                    reply, [transcript[place + 1][0].removeprefix(corpus.TOOL).partition(corpus.END)[0]]
                )
                bridged += 1
        assert ids == expected
    assert bridged > 40
