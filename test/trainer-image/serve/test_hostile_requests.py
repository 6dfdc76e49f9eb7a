"""Tier: integration. A request that is odd, huge or hostile ends itself, and nobody else's."""

from __future__ import annotations

import http.client
import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from fixtures.server import ENVIRONMENT, ServerProcess
from safetensors.torch import load_file, save_file

ASK = [{"role": "user", "content": "put item 7 on shelf b please"}]
CHOICE = {"structured_outputs": {"choice": ["A", "B"]}}


@pytest.fixture(scope="module")
def server(tiny_dir: Path, adapter_dirs: list[Path], tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("store")
    shutil.copytree(adapter_dirs[0], folder / "good")
    with ServerProcess(tiny_dir, "--served-name", "tiny", "--adapters", str(folder)) as process:
        process.folder = folder
        yield process


def still_works(server: ServerProcess) -> bool:
    return server.request("GET", "/healthz")[0] == 200 and bool(server.chat(messages=ASK, max_tokens=1, seed=1))


@pytest.mark.parametrize("temperature", [1e-300, 1e-45, 1e-38, 1e-7, 5e-324])
@pytest.mark.parametrize("more", [{}, CHOICE])
def test_a_tiny_temperature_is_greedy(server: ServerProcess, temperature: float, more: dict) -> None:
    greedy = server.chat(messages=ASK, temperature=0, max_tokens=6, **more)["choices"][0]["message"]
    tiny = server.chat(messages=ASK, temperature=temperature, max_tokens=6, seed=5, **more)["choices"][0]["message"]
    assert tiny == greedy
    assert still_works(server)


# The fields as JSON text: Python's own encoder cannot write all of them.
ODD_NUMBERS = [
    *('"temperature": 1e400', '"temperature": -0.0', '"temperature": NaN', f'"temperature": {10**400}'),
    *('"top_p": 0', '"top_p": 1e-300', '"top_p": NaN', '"presence_penalty": 1e400', '"frequency_penalty": -2'),
    *('"max_tokens": 1e400', f'"max_tokens": {10**40}', '"max_tokens": -1', '"max_tokens": 0.5'),
    *('"n": 0', f'"n": {10**30}', '"seed": 9007199254740993', f'"seed": {2**64}', f'"seed": -{2**63}', '"seed": 1.5'),
    *('"logprobs": true, "top_logprobs": 20', '"logprobs": 5', '"logprobs": true, "top_logprobs": -1'),
    *('"stop": ["' + "x" * 5000 + '"]', '"stop": 7', '"stop": [[]]'),
    '"logit_bias": {' + ",".join(f'"{i}": 100' for i in range(3000)) + "}",
    *('"structured_outputs": 5', '"structured_outputs": []', '"structured_outputs": {"choice": [[]]}'),
    *('"structured_outputs": {"choice": ["A", "A<|im_end|>"]}', '"structured_outputs": {"choice": ["<|im_end|>"]}'),
    '"structured_outputs": {"choice": ["' + "a" * 20000 + '"]}',
    '"structured_outputs": {"choice": [' + ",".join(f'"c{i}"' for i in range(20000)) + "]}",
    *('"stream_options": 5', '"stream": "yes"', '"tools": [5]', '"tool_choice": {}', '"tools": [{"type": "\\ud800"}]'),
    *('"user": "\\ud800"', '"messages": [{"role": "user", "content": "\\ud800"}]', '"model": "\\udfff"'),
    '"tools": [' + '{"a":' * 700 + "1" + "}" * 700 + "]",
    '"metadata": ' + "[" * 100_000 + "]" * 100_000,
    '"messages": [' + ",".join('{"role": "user", "content": ""}' for _ in range(5000)) + "]",
]


@pytest.mark.parametrize("field", ODD_NUMBERS, ids=lambda field: field[:50])
def test_an_odd_field_is_answered_or_refused_in_words(server: ServerProcess, field: str) -> None:
    known = {"model": '"tiny"', "messages": json.dumps(ASK), "max_tokens": "2"}
    fixed = ", ".join(f'"{name}": {value}' for name, value in known.items() if f'"{name}":' not in field)
    status, text = server.request_text("POST", "/v1/chat/completions", "{" + fixed + ", " + field + "}")
    assert status < 500, text
    if status != 200:
        error = json.loads(text)["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert len(error["message"]) < 1000
    assert still_works(server)


# A tokenizer that fails at the texts that would take it seconds.
TOUCHY_TOKENIZER = """
from whetstone.chat.control_tokens import ControlTokens
encode = ControlTokens.encode

def touchy(self, text):
    if len(text) > 4096:
        raise RuntimeError(f"{len(text)} characters were tokenized")
    return encode(self, text)

ControlTokens.encode = touchy
"""


def test_a_long_word_is_refused_before_it_is_tokenized(tiny_dir: Path) -> None:
    with ServerProcess(tiny_dir, "--served-name", "tiny", patch=TOUCHY_TOKENIZER) as process:
        for size in (5_000, 30_000, 60_000):
            word = "a" * size
            for field, more in (
                ("messages", {"messages": [{"role": "user", "content": word}]}),
                ("structured_outputs", {"messages": ASK, "structured_outputs": {"choice": ["A", word]}}),
            ):
                status, text = process.request("POST", "/v1/chat/completions", {"model": "tiny", **more})
                assert status == 400, text
                error = json.loads(text)["error"]
                assert (error["param"], error["code"]) == (field, "context_length_exceeded")
        assert still_works(process)


def test_a_body_that_no_prompt_can_need_is_refused(server: ServerProcess) -> None:
    status, text = server.request_text("POST", "/v1/chat/completions", '{"x": "' + "x" * 9_000_000 + '"}')
    assert (status, json.loads(text)["error"]["code"]) == (413, "request_too_large")


def test_a_body_sent_from_another_site_is_refused(server: ServerProcess) -> None:
    asked = json.dumps({"model": "tiny", "messages": ASK, "max_tokens": 1})
    json_type = {"content-type": "application/json"}
    for headers, expected in [
        (json_type, 200),
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({**json_type, "origin": "http://localhost:3000"}, 200),
        ({"content-type": "text/plain"}, 415),
        ({}, 415),
        ({**json_type, "origin": "https://evil.example"}, 403),
        ({**json_type, "origin": "null"}, 403),
        ({**json_type, "host": "evil.example"}, 403),
        ({**json_type, "host": "evil.example", "origin": "http://evil.example"}, 403),
    ]:
        for path in ("/v1/chat/completions", "/v1/load_lora_adapter"):
            status, text = server.request_text("POST", path, asked, headers)
            assert status == (expected if path.endswith("completions") or expected != 200 else 400), (headers, text)


def change_config(directory: Path, **fields: str) -> None:
    path = directory / "adapter_config.json"
    config = {name: json.dumps(value) for name, value in json.loads(path.read_text()).items()}
    path.write_text("{" + ", ".join(f'"{name}": {value}' for name, value in {**config, **fields}.items()) + "}")


def change_tensor(directory: Path, number: float) -> None:
    tensors = load_file(directory / "adapter_model.safetensors")
    name = sorted(tensors)[0]
    tensors[name].view(-1)[3] = number
    save_file(tensors, directory / "adapter_model.safetensors")


def narrow_tensor(directory: Path) -> None:
    tensors = load_file(directory / "adapter_model.safetensors")
    name = next(name for name in sorted(tensors) if "lora_B" in name)
    tensors[name] = tensors[name][:, :-1].contiguous()
    save_file(tensors, directory / "adapter_model.safetensors")


def empty(directory: Path) -> None:
    shutil.rmtree(directory)
    directory.mkdir()


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (lambda path: change_config(path, lora_alpha="1e400"), "lora_alpha"),
        (lambda path: change_config(path, lora_alpha="NaN"), "lora_alpha"),
        (lambda path: change_config(path, lora_alpha=str(10**400)), "lora_alpha"),
        (lambda path: change_config(path, r="0"), "rank r"),
        (lambda path: change_config(path, r="true"), "rank r"),
        (lambda path: change_config(path, r="-4", use_rslora="true"), "rank r"),
        (lambda path: change_tensor(path, float("nan")), "not finite"),
        (lambda path: change_tensor(path, float("inf")), "not finite"),
        (narrow_tensor, "rank"),
        (empty, "adapter_config.json"),
        (lambda path: (path / "adapter_model.safetensors").unlink(), "adapter_model.safetensors"),
    ],
)
def test_a_broken_adapter_is_refused_at_load(server: ServerProcess, adapter_dirs: list[Path], damage, word) -> None:
    directory = server.folder / "broken"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(adapter_dirs[0], directory)
    damage(directory)
    status, text = server.request("POST", "/v1/load_lora_adapter", {"lora_name": "broken", "lora_path": str(directory)})
    assert status == 400, text
    assert word in json.loads(text)["error"]["message"]
    assert still_works(server)


def test_an_adapter_that_overflows_ends_only_its_own_requests(server: ServerProcess, adapter_dirs: list[Path]) -> None:
    directory = server.folder / "huge"
    shutil.copytree(adapter_dirs[0], directory)
    tensors = load_file(directory / "adapter_model.safetensors")
    save_file({name: torch.full_like(t, 1e16) for name, t in tensors.items()}, directory / "adapter_model.safetensors")
    asked = {"lora_name": "huge", "lora_path": str(directory)}
    assert server.request("POST", "/v1/load_lora_adapter", asked)[0] == 200

    def ask(model: str, more: dict) -> tuple[int, str]:
        asked = {"model": model, "messages": ASK, "max_tokens": 4, "seed": 1, **more}
        return server.request("POST", "/v1/chat/completions", asked)

    alone = ask("tiny", {})[1]
    with ThreadPoolExecutor(8) as pool:
        broken = [pool.submit(ask, "huge", more) for more in ({}, CHOICE, {"temperature": 0}, {"logprobs": True})]
        sound = [pool.submit(ask, "tiny", {}) for _ in range(4)]
    for answer in broken:
        status, text = answer.result()
        assert (status, json.loads(text)["error"]["code"]) == (500, "not_finite")
    content = json.loads(alone)["choices"][0]["message"]
    assert [json.loads(answer.result()[1])["choices"][0]["message"] for answer in sound] == [content] * 4
    _, text = server.request("POST", "/v1/chat/completions", {"model": "huge", "messages": ASK, "stream": True})
    assert '"not_finite"' in text.strip().splitlines()[-1]
    assert still_works(server)


def test_adapters_come_from_the_servers_folder_only(server: ServerProcess, adapter_dirs: list[Path]) -> None:
    (server.folder / "link").symlink_to(adapter_dirs[1])
    for path in (str(adapter_dirs[1]), f"{server.folder}/../{adapter_dirs[1].name}", f"{server.folder}/link", "good"):
        status, text = server.request("POST", "/v1/load_lora_adapter", {"lora_name": "other", "lora_path": path})
        assert (status, "--adapters" in json.loads(text)["error"]["message"]) == (400, True)
    good = {"lora_name": "good", "lora_path": str(server.folder / "good")}
    assert server.request("POST", "/v1/load_lora_adapter", good)[0] == 200
    heavy = {"lora_name": "mix", "lora_mixture": [{"lora_name": "good", "weight": 1}]}
    for weight in (10**400, 1e39, 1e300):
        heavy["lora_mixture"][0]["weight"] = weight
        status, text = server.request("POST", "/v1/load_lora_adapter", heavy)
        assert (status, json.loads(text)["error"]["param"]) == (400, "lora_mixture")


def test_a_fifo_in_place_of_an_adapter_blocks_nobody(server: ServerProcess, adapter_dirs: list[Path]) -> None:
    import os

    directory = server.folder / "fifo"
    shutil.copytree(adapter_dirs[0], directory)
    (directory / "adapter_config.json").unlink()
    os.mkfifo(directory / "adapter_config.json")
    status, text = server.request("POST", "/v1/load_lora_adapter", {"lora_name": "f", "lora_path": str(directory)})
    assert (status, "not a file" in text) == (400, True)


# A tokenizer that needs for a long text until there is a file.
SLOW_TOKENIZER = """
import os, time
from whetstone.chat.control_tokens import ControlTokens
quick = ControlTokens.encode

def slow(self, text):
    while len(text) > 4096 and not os.path.exists(os.environ["WHET_TEST_FILE"]):
        time.sleep(0.01)
    return quick(self, text)

ControlTokens.encode = slow
"""


def test_nobody_waits_for_the_long_text_of_another(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "WHET_TEST_FILE", str(tmp_path / "go"))
    with (
        ServerProcess(tiny_dir, "--served-name", "tiny", patch=SLOW_TOKENIZER) as process,
        ThreadPoolExecutor() as pool,
    ):
        asked = {"model": "tiny", "messages": [{"role": "user", "content": "put item " * 600}]}
        long = pool.submit(process.request, "POST", "/v1/chat/completions", asked)
        for seed in range(5):
            process.chat(messages=ASK, seed=seed, max_tokens=2)
        assert not long.done()
        (tmp_path / "go").touch()
        assert long.result()[0] == 400


DEAD_ENGINE = """
from whetstone.engine import Engine

def step(self):
    raise RuntimeError("the device is gone")

Engine.step = step
"""


def test_a_dead_engine_ends_the_process(tiny_dir: Path) -> None:
    with ServerProcess(tiny_dir, "--served-name", "tiny", patch=DEAD_ENGINE) as process:
        answers: list[int] = []

        def ask() -> None:
            try:
                asked = {"model": "tiny", "messages": ASK, "max_tokens": 400}
                answers.append(process.request("POST", "/v1/chat/completions", asked)[0])
            except (OSError, http.client.HTTPException):
                answers.append(0)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert process.process.wait(30) == 1
        assert set(answers) <= {0, 500, 503}
