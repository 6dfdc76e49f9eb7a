"""Tier: integration. The policy server merges adapters that it has loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixtures.server import ServerProcess

ASK = [{"role": "user", "content": "put item 7 on shelf b please"}]


@pytest.fixture(scope="module")
def server(tiny_dir: Path, adapter_dirs: list[Path]):
    loaded = [f"--lora={name}={path}" for name, path in zip("ab", adapter_dirs[:2], strict=True)]
    with ServerProcess(tiny_dir, "--served-name", "tiny", *loaded) as process:
        yield process


def load(server: ServerProcess, name: str, mixture: object) -> tuple[int, dict | str]:
    status, text = server.request("POST", "/v1/load_lora_adapter", {"lora_name": name, "lora_mixture": mixture})
    return status, text if status == 200 else json.loads(text)["error"]


def test_the_server_merges_loaded_adapters(server: ServerProcess) -> None:
    def logprobs(model: str) -> list[float]:
        answer = server.chat(model=model, messages=ASK, seed=1, max_tokens=3, logprobs=True)
        return [token["logprob"] for token in answer["choices"][0]["logprobs"]["content"]]

    assert load(server, "whole", [{"lora_name": "a", "weight": 1}])[0] == 200
    assert load(server, "half", [{"lora_name": "a", "weight": 0.5}, {"lora_name": "b", "weight": 0.5}])[0] == 200
    assert logprobs("whole") == pytest.approx(logprobs("a"), abs=1e-4)
    assert logprobs("half") != pytest.approx(logprobs("a"), abs=1e-2)


@pytest.mark.parametrize(
    ("mixture", "status"),
    [("x", 400), ([], 400), ([{"lora_name": "a"}], 400), ([{"lora_name": "a", "weight": 0}], 400)],
)
def test_a_mixture_that_is_none_is_refused(server: ServerProcess, mixture: object, status: int) -> None:
    found, error = load(server, "wrong", mixture)
    assert (found, error["param"]) == (status, "lora_mixture")


def test_parts_must_be_loaded(server: ServerProcess) -> None:
    status, error = load(server, "wrong", [{"lora_name": "nobody", "weight": 1}])
    assert (status, error["code"]) == (404, "model_not_found")
