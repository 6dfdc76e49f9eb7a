"""Tier: unit. What answers of a server that is no fitting vLLM become: errors that say what to change."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from whetstone.sampling import SampleRequest, SamplerRefused
from whetstone.sampling.vllm_sampler import VllmSampler
from whetstone.sampling.vllm_server import AdapterMissing, Unreachable, VllmServer

REQUEST = SampleRequest([1, 2], 4, 1.0, 7, (2,))
CHOICE = {
    "token_ids": [5, 2],
    "prompt_token_ids": [1, 2],
    "logprobs": {"token_logprobs": [-1.0, -2.0]},
    "finish_reason": "stop",
}
CARD = {"id": "base", "parent": None, "max_model_len": 128}


class ScriptedServer:
    """Answers every request with the status and body that stand in `answers` for its path."""

    def __init__(self) -> None:
        answers = self.answers = {}
        asked = self.asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.do_GET()

            def do_GET(self) -> None:
                status, body = answers.get(self.path, (404, {"detail": "Not Found"}))
                text = (body if isinstance(body, str) else json.dumps(body)).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.client = VllmServer(f"http://127.0.0.1:{self.http.server_port}/v1", 2)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripted = ScriptedServer()
    yield scripted
    scripted.http.shutdown()
    scripted.http.server_close()


def error(message: str) -> dict:
    return {"error": {"message": message, "type": "x", "code": 1}}


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (404, {"detail": "Not Found"}, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True in its environment and --enable-lora"),
        (405, {"detail": "Method Not Allowed"}, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"),
        (401, error("Unauthorized"), "WHET_SAMPLER_AUTH_FILE"),
        (
            500,
            error("Call to add_lora method failed: LoRA rank 24 is greater than max_lora_rank 16."),
            "start it with --max-lora-rank 32",
        ),
        (404, error("Loading lora x failed: No adapter found for <path>"), "see this folder by the same path"),
        (400, error("odd"), "could not load an adapter: odd"),
    ],
)
def test_adapters_that_do_not_load(server: ScriptedServer, status: int, body: dict, words: str) -> None:
    server.answers["/v1/load_lora_adapter"] = (status, body)
    with pytest.raises(SamplerRefused, match=words):
        server.client.load("x", "/adapters/x", 24)


def test_a_key_that_the_trainers_own_server_refuses_is_no_matter_of_a_key_file(server: ScriptedServer) -> None:
    server.answers["/v1/models"] = (401, error("Unauthorized"))
    own = VllmServer(server.client.url, 1, "secret", own=True)
    with pytest.raises(Unreachable, match="another server listens at .* and refuses the trainer's key"):
        own.model()


def test_an_adapter_that_is_there_already_is_loaded(server: ScriptedServer) -> None:
    server.answers["/v1/load_lora_adapter"] = (400, error("The lora adapter 'x' has already been loaded."))
    server.client.load("x", "/adapters/x", 24)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"token_ids": None}, "answers no token ids"),
        ({"prompt_token_ids": None}, "answers no token ids"),
        ({"logprobs": None}, "answers 0 log-probabilities for 2 tokens"),
        ({"logprobs": {"token_logprobs": [-1.0]}}, "1 log-probabilities for 2 tokens"),
        ({"prompt_token_ids": [0, 1, 2]}, "read 3 prompt tokens that are not the 2"),
        ({"finish_reason": "abort"}, "ended a completion with 'abort'"),
    ],
)
def test_answers_that_are_not_exact(server: ScriptedServer, change: dict, words: str) -> None:
    server.answers["/v1/completions"] = (200, {"choices": [{**CHOICE, **change}]})
    with pytest.raises(SamplerRefused, match=words):
        server.client.complete("base", REQUEST)


def test_nothing_but_the_request_shapes_what_is_sampled(server: ScriptedServer) -> None:
    server.answers["/v1/completions"] = (200, {"choices": [CHOICE]})
    sample = server.client.complete("base", REQUEST)
    assert (sample.tokens, sample.logprobs, sample.finish) == ([5, 2], [-1.0, -2.0], "stop")
    # Whatever generation_config.json of the model recommends.
    neutral = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0, "temperature": 1.0}
    assert neutral.items() <= server.asked[0].items()
    assert "seed" not in server.asked[0]
    assert (server.asked[0]["stop_token_ids"], server.asked[0]["ignore_eos"]) == ([2], True)


@pytest.mark.parametrize(
    ("status", "body", "raised"),
    [
        (404, error("The model `x` does not exist."), AdapterMissing),
        (400, error("too long"), SamplerRefused),
        (500, error("EngineCore encountered an issue"), Unreachable),
        (503, error("loading"), Unreachable),
        (429, error("busy"), Unreachable),
    ],
)
def test_what_may_be_asked_again(server: ScriptedServer, status: int, body: dict, raised: type) -> None:
    server.answers["/v1/completions"] = (status, body)
    with pytest.raises(raised):
        server.client.complete("x", REQUEST)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((404, {"detail": "Not Found"}), "there is no OpenAI API"),
        ((200, "<html>a proxy</html>"), "not JSON.*a proxy"),
        ((200, {"data": []}), "serves no base model"),
        ((200, {"data": [{"id": "base"}]}), "max_model_len"),
    ],
)
def test_servers_that_are_no_vllm(server: ScriptedServer, answer: tuple[int, dict | str], words: str) -> None:
    server.answers["/v1/models"] = answer
    with pytest.raises(SamplerRefused, match=words):
        server.client.model()


def test_the_base_model_and_its_adapters(server: ScriptedServer) -> None:
    server.answers["/v1/models"] = (200, {"data": [CARD, {"id": "adapter", "parent": "base"}]})
    assert (server.client.model().name, server.client.model().length) == ("base", 128)
    assert server.client.adapters() == ["adapter"]


def test_a_server_that_is_not_there() -> None:
    client = VllmServer("http://127.0.0.1:9", 1)
    with pytest.raises(Unreachable, match="ConnectError"):
        client.model()
    assert not client.is_healthy()


def test_two_processes_of_one_training_do_not_touch_each_others_adapters(
    server: ScriptedServer, tmp_path: Path
) -> None:
    server.answers |= {"/v1/models": (200, {"data": [CARD]}), "/v1/load_lora_adapter": (200, "ok")}
    server.answers["/v1/unload_lora_adapter"] = (200, "ok")
    model = SimpleNamespace(peft_config={"default": SimpleNamespace(r=8)})

    def write(_: object, directory: Path) -> None:
        (directory / "adapter_config.json").write_text("{}")

    def start(session: str) -> VllmSampler:
        client = VllmServer(server.client.url, 2)
        return VllmSampler(client, "whet-job-", session, tmp_path / "sampler", write, lambda: False, lambda _: None)

    old = start("00000000")
    before = old.publish(model)
    new = start("11111111")
    after = new.publish(model)
    assert before != after
    old.close()
    assert [one["lora_name"] for one in server.asked if "lora_path" not in one] == [before]
    assert [path.name for path in (tmp_path / "sampler").iterdir()] == ["11111111"]
    new.close()
    assert not (tmp_path / "sampler").exists()
