"""Tier: integration. Calls about adapters that are odd or hostile are refused in words, and change nothing."""

from __future__ import annotations

import http.client
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixtures.server import ServerProcess
from safetensors.torch import load_file, save_file
from whetstone.tree_hash import tree_sha256

ASK = [{"role": "user", "content": "put item 7 on shelf b please"}]
LOAD = "/v1/load_lora_adapter"


@pytest.fixture(scope="module")
def server(
    tiny_dir: Path, adapter_dirs: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("store")
    for directory in adapter_dirs:
        shutil.copytree(directory, folder / directory.name)
    options = ("--served-name", "tiny", "--adapters", str(folder), f"--lora=a={folder / 'a'}")
    with ServerProcess(tiny_dir, *options) as process:
        process.folder = folder
        yield process


def refusal(server: ServerProcess, body: dict) -> str:
    status, text = server.request("POST", LOAD, body)
    assert status == 400, text
    return json.loads(text)["error"]["message"]


def change_tensors(directory: Path, change: Callable[[str, object], tuple[str, object]]) -> None:
    path = directory / "adapter_model.safetensors"
    save_file(dict(change(*item) for item in load_file(path).items()), path)


def rank_nothing(directory: Path) -> None:
    change_tensors(directory, lambda name, t: (name, (t[:0] if "lora_A" in name else t[:, :0]).contiguous()))


def endless_layer(directory: Path) -> None:
    change_tensors(directory, lambda name, t: (name.replace("layers.1.", f"layers.{'1' * 5000}."), t))


def sparse(name: str) -> Callable[[Path], None]:
    def grow(directory: Path) -> None:
        with (directory / name).open("r+b") as file:
            file.truncate(3 * 2**30)

    return grow


def rank_of_millions(directory: Path) -> None:
    path = directory / "adapter_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "r": 60_000}))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (rank_nothing, "factors of rank 0"),
        (endless_layer, "is not a LoRA factor"),
        (sparse("adapter_config.json"), "more than any options of LoRA need"),
        (sparse("adapter_model.safetensors"), "more than factors of rank 4 need"),
        (rank_of_millions, "rank r, a whole number of 1 to 512"),
    ],
)
def test_an_adapter_that_fails_leaves_the_served_one_in_place(server: ServerProcess, damage, words: str) -> None:
    def ask() -> dict:
        return server.chat(model="a", messages=ASK, max_tokens=4, seed=1, logprobs=True)["choices"][0]

    before = ask()
    directory = server.folder / "damaged"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(server.folder / "a", directory)
    damage(directory)
    message = refusal(server, {"lora_name": "a", "lora_path": str(directory), "load_inplace": True})
    assert words in message
    assert len(message) < 1000
    assert ask() == before


@pytest.mark.parametrize("part", ["x" * 300, "é" * 2000])
def test_a_path_that_no_file_system_has_is_refused(server: ServerProcess, part: str) -> None:
    message = refusal(server, {"lora_name": "long", "lora_path": f"{server.folder}/{part}"})
    assert "File name too long" in message


# An engine that has no memory left for another adapter.
FULL_ENGINE = """
from whetstone.engine.weights import Weights
build = Weights._build
built = []

def full(self, *arguments):
    built.append(1)
    if len(built) > 10:
        raise RuntimeError("out of memory")
    return build(self, *arguments)

Weights._build = full
"""


def test_an_engine_that_fails_halfway_still_serves_the_adapter(tiny_dir: Path, adapter_dirs: list[Path]) -> None:
    options = ("--served-name", "tiny", "--adapters", str(adapter_dirs[0].parent), f"--lora=a={adapter_dirs[0]}")
    with ServerProcess(tiny_dir, *options, patch=FULL_ENGINE) as process:
        before = process.chat(model="a", messages=ASK, max_tokens=4, seed=1, logprobs=True)["choices"]
        asked = {"lora_name": "a", "lora_path": str(adapter_dirs[1]), "load_inplace": True}
        assert process.request("POST", LOAD, asked)[0] == 500
        assert process.chat(model="a", messages=ASK, max_tokens=4, seed=1, logprobs=True)["choices"] == before


def test_a_mixture_has_few_parts(server: ServerProcess) -> None:
    part = {"lora_name": "a", "weight": 0.01}
    assert server.request("POST", LOAD, {"lora_name": "mixed", "lora_mixture": [part] * 64})[0] == 200
    message = refusal(server, {"lora_name": "many", "lora_mixture": [part] * 65})
    assert message == "lora_mixture has 65 parts, at most 64 are merged"


def test_a_mixture_of_a_mixture_is_refused_in_words(server: ServerProcess) -> None:
    part = {"lora_name": "a", "weight": 1}
    assert server.request("POST", LOAD, {"lora_name": "once", "lora_mixture": [part]})[0] == 200
    message = refusal(server, {"lora_name": "twice", "lora_mixture": [part, {"lora_name": "once", "weight": 1}]})
    assert message == "adapter once is a mixture itself: name the adapters that it was made of"


@pytest.mark.parametrize("name", ["x\n\x1b[31m", "x\x9b2J", "x\u202ey", "\ud800"])
@pytest.mark.parametrize("path", [LOAD, "/v1/unload_lora_adapter", "/v1/chat/completions"])
def test_no_answer_repeats_control_characters(server: ServerProcess, name: str, path: str) -> None:
    asked = {"lora_name": name, "lora_path": str(server.folder / "a"), "model": name, "messages": ASK}
    status, text = server.request("POST", path, asked)
    assert status in (400, 404), text
    assert text.isprintable()
    assert json.loads(text)["error"]["message"].isprintable()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/models/", 404),
        ("POST", "/v1/chat/completions/", 404),
        ("GET", "/no/such/route", 404),
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/healthz", 405),
    ],
)
def test_what_has_no_route_is_answered_in_openais_form(
    server: ServerProcess, method: str, path: str, status: int
) -> None:
    for host, expected in (("localhost", status), ("evil.example", 403)):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request(method, path, headers={"host": host})
        answer = connection.getresponse()
        error = json.loads(answer.read())["error"]
        assert (answer.status, answer.getheader("location")) == (expected, None)
        assert expected == 403 or f"{method} {path}" in error["message"]
        assert (answer.getheader("allow") is not None) == (expected == 405)
        connection.close()


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: change_tensors(d, lambda name, t: (name, -3 * t)),
        lambda d: flip(d / "adapter_model.safetensors"),
        lambda d: shutil.copy(d.parent / "b" / "adapter_model.safetensors", d),
        lambda d: (d / "adapter_config.json").write_text((d / "adapter_config.json").read_text() + " "),
        lambda d: (d / "tokenizer_config.json").write_text("{}"),
    ],
    ids=["weights times -3", "one bit", "weights of another adapter", "a blank in the options", "a further file"],
)
def test_changed_files_are_not_loaded_under_the_name_of_their_hash(server: ServerProcess, damage) -> None:
    directory = server.folder / "named"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(server.folder / "a", directory)
    name = f"a@{tree_sha256(directory)[:12]}"
    body = {"lora_name": name, "lora_path": str(directory)}
    assert server.request("POST", LOAD, body)[0] == 200
    damage(directory)
    # What is in memory is what was loaded; a mixture reads the files again.
    mixture = {"lora_name": "mixture", "lora_mixture": [{"lora_name": name, "weight": 1}]}
    assert "they were changed" in refusal(server, mixture)
    assert server.request("POST", "/v1/unload_lora_adapter", {"lora_name": name})[0] == 200
    assert "they were changed; `whet repair RUN`" in refusal(server, body)
    listed = json.loads(server.request("GET", "/v1/models", None)[1])["data"]
    assert name not in [card["id"] for card in listed]
