"""Tier: unit. Rollouts have the tokens that their model was taught, byte for byte: the demo, and a world with texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import transcripts as corpus
from whetstone.chat.renderer import Renderer
from world import load_world

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.mark.parametrize("folder", ["orders-desk", "worlds/venue-desk"])
def test_rollouts_have_the_tokens_of_the_demonstrations(folder: str, tmp_path: Path) -> None:
    world = load_world(EXAMPLES / folder)
    transcripts = [corpus.demonstration(world, seed) for seed in range(40)]
    tokenizer = corpus.build_tokenizer(["".join(text for text, _ in one) for one in transcripts], 700)
    tokenizer.save_pretrained(tmp_path)
    renderer = Renderer(tmp_path)
    bridged = 0
    for transcript, (expected, _) in zip(transcripts, corpus.encode(tokenizer, transcripts), strict=True):
        opening = transcript[0][0].removeprefix(corpus.USER).partition(corpus.END)[0]
        ids = renderer.prompt([{"role": "user", "content": opening}], world.environment.Environment.tools())
        for place in range(1, len(transcript), 2):
            sampled = renderer.chat.encode(transcript[place][0])
            reply = renderer.read(ids, sampled, None)
            assert [(call.name, json.loads(call.arguments)) for call in reply.calls] or reply.content
            ids += sampled
            if place + 1 < len(transcript):
                heard = transcript[place + 1][0].removeprefix(corpus.TOOL if reply.calls else corpus.NEXT_USER)
                ids += renderer.bridge(reply, [heard.partition(corpus.END)[0]])
                bridged += 1
        assert ids == expected
    assert bridged > 40
