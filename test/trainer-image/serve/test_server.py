"""Tier: integration. The policy server over HTTP, as clients see it."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fixtures.server import ENVIRONMENT, ServerProcess
from whetstone.tree_hash import tree_sha256

ASK = [{"role": "user", "content": "put item 7 on shelf b please"}]
HISTORY = [
    *ASK,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "get_item", "arguments": '{"item": "7"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "x", "content": '{"shelf":"b"}'},
]


@pytest.fixture(scope="module")
def server(tiny_dir: Path, adapter_dirs: list[Path]):
    folder = f"--adapters={adapter_dirs[0].parent}"
    with ServerProcess(tiny_dir, "--served-name", "tiny", "--lora", f"first={adapter_dirs[0]}", folder) as process:
        yield process


def test_completion_has_openai_shape_and_usage(server: ServerProcess) -> None:
    body = server.chat(messages=ASK, seed=1, max_tokens=8)
    assert body["object"] == "chat.completion"
    choice = body["choices"][0]
    assert choice["message"]["role"] == "assistant"
    assert choice["finish_reason"] in ("stop", "length")
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["completion_tokens"] <= 8


def test_every_answer_names_the_weights_that_gave_it(server: ServerProcess, tiny_dir: Path) -> None:
    sha256 = tree_sha256(tiny_dir)
    _, text = server.request("GET", "/v1/models")
    assert [(card["id"], card.get("weights_sha256")) for card in json.loads(text)["data"]][:2] == [
        ("tiny", sha256),
        ("first", None),
    ]
    whole = server.chat(messages=ASK, max_tokens=2)
    assert whole["system_fingerprint"] == f"weights-{sha256[:16]}"
    _, text = server.request(
        "POST", "/v1/chat/completions", {"model": "first", "messages": ASK, "max_tokens": 2, "stream": True}
    )
    chunks = [json.loads(line.removeprefix("data: ")) for line in text.split("\n\n") if line.startswith("data: {")]
    assert {chunk["system_fingerprint"] for chunk in chunks} == {whole["system_fingerprint"]}


def test_same_seed_same_answer_alone_and_in_a_crowd(server: ServerProcess) -> None:
    def ask(seed: int) -> dict:
        name = "first" if seed % 3 == 0 else "tiny"
        asked = {"model": name, "messages": HISTORY if seed % 2 else ASK, "seed": seed, "max_tokens": 30}
        return server.chat(**asked, logprobs=True)["choices"][0]

    with ThreadPoolExecutor(16) as pool:
        crowd = list(pool.map(ask, range(32)))
    assert crowd == [ask(seed) for seed in range(32)]
    assert len({json.dumps(choice["message"]["content"]) for choice in crowd}) > 16


def test_top_logprobs_name_the_most_likely_tokens(server: ServerProcess) -> None:
    body = server.chat(messages=ASK, temperature=0, max_tokens=3, logprobs=True, top_logprobs=5)
    for entry in body["choices"][0]["logprobs"]["content"]:
        assert len(entry["top_logprobs"]) == 5
        assert entry["top_logprobs"][0]["token"] == entry["token"]
        assert entry["top_logprobs"][0]["logprob"] == pytest.approx(entry["logprob"])
        assert bytes(entry["bytes"]).decode() == entry["token"]


def test_choice_restricts_the_answer_and_logprobs_stay_raw(server: ServerProcess) -> None:
    asked = {"messages": ASK, "logprobs": True, "top_logprobs": 20, "temperature": 0}
    free = server.chat(**asked, max_tokens=1)
    bound = server.chat(**asked, max_tokens=1, structured_outputs={"choice": ["A", "B", "C"]})
    choice = bound["choices"][0]
    assert choice["message"]["content"] in ("A", "B", "C")
    assert choice["finish_reason"] == "stop"
    first = [answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"] for answer in (free, bound)]
    assert first[0] == first[1]
    longer = server.chat(messages=ASK, structured_outputs={"choice": ["item 7", "item 3", "item"]}, seed=3)
    assert longer["choices"][0]["message"]["content"] in ("item 7", "item 3", "item")


def test_streamed_pieces_make_the_whole_answer(server: ServerProcess) -> None:
    asked = {"model": "tiny", "messages": ASK, "seed": 5, "max_tokens": 24}
    whole = server.chat(**asked)
    _, text = server.request(
        "POST", "/v1/chat/completions", {**asked, "stream": True, "stream_options": {"include_usage": True}}
    )
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == whole["choices"][0]["message"]["content"]
    assert len([delta for delta in deltas if delta.get("content")]) > 1
    assert [c["choices"][0]["finish_reason"] for c in chunks if c["choices"]][-1] == whole["choices"][0][
        "finish_reason"
    ]
    tokens = ("prompt_tokens", "completion_tokens")
    assert [chunks[-1]["usage"][key] for key in tokens] == [whole["usage"][key] for key in tokens]


def test_next_turn_reuses_the_cache(server: ServerProcess) -> None:
    first = server.chat(messages=HISTORY, seed=11, max_tokens=20)
    again = server.chat(messages=HISTORY, seed=12, max_tokens=1)
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] >= first["usage"]["prompt_tokens"] - 1


@pytest.mark.parametrize(
    ("change", "status", "word"),
    [
        ({"model": "nobody"}, 404, "nobody"),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, 400, "messages[0]"),
        ({"temperature": 3}, 400, "temperature"),
        ({"temperature": True}, 400, "temperature"),
        ({"max_tokens": 0}, 400, "max_tokens"),
        ({"n": 2}, 400, "n is not supported"),
        ({"top_logprobs": 21, "logprobs": True}, 400, "top_logprobs"),
        ({"structured_outputs": {"choice": []}}, 400, "structured_outputs"),
        ({"structured_outputs": {"json": {}}}, 400, "structured_outputs"),
        ({"messages": [{"role": "user", "content": "item 7 " * 400}]}, 400, "tokens"),
    ],
)
def test_refusals_name_the_field(server: ServerProcess, change: dict, status: int, word: str) -> None:
    got, text = server.request("POST", "/v1/chat/completions", {"model": "tiny", "messages": ASK, **change})
    assert got == status
    error = json.loads(text)["error"]
    assert word in error["message"]
    assert set(error) == {"message", "type", "param", "code"}


def test_body_that_is_not_json(server: ServerProcess) -> None:
    status, text = server.request("POST", "/v1/load_lora_adapter", "x")
    assert status == 400
    assert "lora_name" in json.loads(text)["error"]["message"]


def test_adapters_come_and_go(server: ServerProcess, adapter_dirs: list[Path]) -> None:
    path = str(adapter_dirs[1])
    assert server.request("POST", "/v1/load_lora_adapter", {"lora_name": "second", "lora_path": path})[0] == 200
    names = [card["id"] for card in json.loads(server.request("GET", "/v1/models")[1])["data"]]
    assert names == ["tiny", "first", "second"]
    answers = [
        server.chat(model=name, messages=ASK, temperature=0, max_tokens=1, logprobs=True)["choices"][0]["logprobs"]
        for name in names
    ]
    assert len({answer["content"][0]["logprob"] for answer in answers}) == 3
    status, text = server.request("POST", "/v1/load_lora_adapter", {"lora_name": "second", "lora_path": path})
    assert status == 400
    assert "already served" in text
    status, text = server.request("POST", "/v1/load_lora_adapter", {"lora_name": "third", "lora_path": f"{path}-not"})
    assert status == 400
    assert "adapter_config.json does not exist" in text
    assert server.request("POST", "/v1/unload_lora_adapter", {"lora_name": "second"})[0] == 200
    assert server.request("POST", "/v1/unload_lora_adapter", {"lora_name": "second"})[0] == 404
    assert server.request("POST", "/v1/chat/completions", {"model": "second", "messages": ASK})[0] == 404


def test_health(server: ServerProcess) -> None:
    assert json.loads(server.request("GET", "/healthz")[1])["status"] == "ok"


def test_sigterm_finishes_what_is_open(tiny_dir: Path) -> None:
    with ServerProcess(tiny_dir, "--served-name", "tiny") as process, ThreadPoolExecutor(1) as pool:
        open_answer = pool.submit(process.chat, messages=ASK, seed=2, max_tokens=400, structured_outputs=None)
        process.chat(messages=ASK, seed=1, max_tokens=1)
        process.process.send_signal(signal.SIGTERM)
        assert open_answer.result()["choices"]
        assert process.process.wait(20) == 0


def run_serve(*options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "whetstone.serve", *options]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)


def test_bad_model_and_taken_port_exit_2(tiny_dir: Path, tmp_path: Path) -> None:
    done = run_serve("--model", str(tmp_path), "--port", "0")
    assert (done.returncode, "not a model directory" in done.stderr) == (2, True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run_serve("--model", str(tiny_dir), "--port", str(taken.getsockname()[1]))
    assert (done.returncode, "choose another --port" in done.stderr) == (2, True)
