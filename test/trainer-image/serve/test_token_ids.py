"""Tier: integration. Ids and log-probabilities of tokens, in vLLM's form, against what the engine itself held."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.server import ServerProcess
from whetstone.chat import Chat

ASK = [{"role": "user", "content": "put item 7 on shelf b please"}]
ASKED = {"model": "tiny", "messages": ASK, "seed": 5, "max_tokens": 24}
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("record") / "sampled.jsonl"


@pytest.fixture(scope="module")
def server(tiny_dir: Path, record: Path) -> Iterator[ServerProcess]:
    place = ROOT / "bench" / "captured-tokens"
    patch = (
        f"import sys; sys.path.insert(0, {str(place)!r})\n"
        f"from pathlib import Path; from recording_server import record; record(Path({str(record)!r}))"
    )
    with ServerProcess(tiny_dir, "--served-name", "tiny", patch=patch) as process:
        yield process


def chunks(server: ServerProcess, **asked: object) -> list[dict]:
    status, text = server.request("POST", "/v1/chat/completions", {**ASKED, **asked, "stream": True})
    assert status == 200
    return [json.loads(line.removeprefix("data: ")) for line in text.split("\n\n") if line.startswith("data: {")]


def sampled(record: Path) -> dict:
    """What the engine sampled last."""
    return json.loads(record.read_text().splitlines()[-1])


def test_ids_and_logprobs_are_those_of_the_sampler_with_the_end_of_the_turn(
    server: ServerProcess, record: Path
) -> None:
    ends = set()
    for seed in range(12):
        answer = server.chat(**{**ASKED, "seed": seed, "max_tokens": 40}, return_token_ids=True, logprobs=True)
        choice, own = answer["choices"][0], sampled(record)
        assert answer["prompt_token_ids"] == own["prompt"]
        assert choice["token_ids"] == own["tokens"]
        assert [entry["logprob"] for entry in choice["logprobs"]["content"]] == own["logprobs"]
        assert len(choice["token_ids"]) == answer["usage"]["completion_tokens"]
        ends.add(choice["finish_reason"])
    assert "stop" in ends or "length" in ends


@pytest.mark.parametrize("logprobs", [False, True])
def test_the_pieces_of_a_stream_have_the_same_ids(server: ServerProcess, record: Path, logprobs: bool) -> None:
    first, *others = chunks(server, return_token_ids=True, logprobs=logprobs)
    own = sampled(record)
    assert first["prompt_token_ids"] == own["prompt"] and "token_ids" not in first["choices"][0]
    assert all("prompt_token_ids" not in one for one in others)
    choices = [one["choices"][0] for one in others]
    assert [token for choice in choices for token in choice["token_ids"]] == own["tokens"]
    if logprobs:
        # In each chunk there are as many as ids.
        found = [choice for choice in choices if choice["logprobs"]]
        assert [len(choice["logprobs"]["content"]) for choice in found] == [len(one["token_ids"]) for one in found]
        assert [entry["logprob"] for one in found for entry in one["logprobs"]["content"]] == own["logprobs"]
    else:
        assert len([choice for choice in choices if choice["token_ids"]]) > 1


def test_nobody_gets_ids_unasked(server: ServerProcess) -> None:
    answer = server.chat(**ASKED)
    assert "prompt_token_ids" not in answer and "token_ids" not in answer["choices"][0]
    assert all("prompt_token_ids" not in one and "token_ids" not in one["choices"][0] for one in chunks(server))
    status, text = server.request("POST", "/v1/chat/completions", {**ASKED, "return_token_ids": 1})
    assert status == 400 and json.loads(text)["error"]["param"] == "return_token_ids"


def test_a_conversation_is_counted_as_its_prompt_is_read(server: ServerProcess, record: Path, tiny_dir: Path) -> None:
    status, text = server.request("POST", "/tokenize", {"model": "tiny", "messages": ASK})
    answer = json.loads(text)
    server.chat(**ASKED)
    assert status == 200 and answer["tokens"] == sampled(record)["prompt"]
    assert answer["count"] == len(answer["tokens"]) and answer["max_model_len"] > answer["count"]
    assert Chat(tiny_dir).decode(answer["tokens"]).count("item 7") == 1
    assert server.request("POST", "/tokenize", {"model": "nobody", "messages": ASK})[0] == 404
    assert server.request("POST", "/tokenize", {"model": "tiny"})[0] == 400
