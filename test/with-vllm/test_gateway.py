"""Tier: integration, with vLLM. The gateway before a real vLLM: adapters loaded and lost, routers, seeds and tools."""

from __future__ import annotations

import json
import math
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from policy import make_policy
from vllm_process import SERVED_NAME
from whetstone.sampling.local_port import LocalPort
from whetstone.tree_hash import tree_sha256

ROOT = Path(__file__).resolve().parents[2]
CAPABILITIES = ("put-items", "verify-first")
SUMMARIES = {name: f"It has to {name.replace('-', ' ')}." for name in CAPABILITIES}
QUESTION = [{"role": "user", "content": "put item 7 on shelf b please"}]
WAIT_SECONDS = 120


@dataclass
class Served:
    """A gateway with an agent `desk`, its store, and the names of its adapters by capability."""

    url: str
    store: Path
    adapters: dict[str, str]


def post(url: str, body: dict) -> tuple[int, dict, dict]:
    """Status, JSON and headers of the answer."""
    data, headers = json.dumps(body).encode(), {"content-type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else {}, dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}"), dict(error.headers)


def ask(url: str, model: str, messages: list[dict] = QUESTION, **options) -> tuple[str, dict]:
    """What the model says to the messages, greedily, and the headers of the answer."""
    body = {"model": model, "messages": messages, "temperature": 0, "max_tokens": 24, **options}
    status, answer, headers = post(f"{url}/v1/chat/completions", body)
    assert status == 200, answer
    return answer["choices"][0]["message"]["content"], {name.lower(): value for name, value in headers.items()}


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def save_adapters(model: Path, store: Path) -> dict[str, str]:
    """Two random adapters in the store, under names with their hashes."""
    names = {}
    for seed, capability in enumerate(CAPABILITIES, 31):
        written = store / "adapters" / "desk" / capability
        make_policy(model, seed).save_pretrained(str(written))
        names[capability] = f"{capability}-{tree_sha256(written)[:12]}"
        written.rename(written.with_name(names[capability]))
    return names


def promote(store: Path, adapters: dict[str, str]) -> None:
    """Writes the agent's registry, with the adapters as its active version."""
    entries = [
        {
            "name": name,
            "capabilityId": capability,
            "summary": SUMMARIES[capability],
            "key": f"adapters/desk/{name}",
            "sha256": tree_sha256(store / "adapters" / "desk" / name),
        }
        for capability, name in adapters.items()
    ]
    version = {
        "version": 1,
        "runId": "run-desk-1",
        "createdAt": "2026-11-22T00:00:00.000Z",
        "replaced": None,
        "baseModelSha256": "0" * 64,
        "adapters": entries,
        "routedMinusBase": {"estimate": 0.1, "low": 0.05, "high": 0.15},
    }
    capabilities = [{"id": capability, "summary": SUMMARIES[capability]} for capability in adapters]
    router = {"kind": "logits", "leftOut": [], "capabilities": capabilities, "temperature": 1, "threshold": 0}
    script = (
        "const { LocalStore, putJson } = require(process.argv[1]);"
        "const [store, version, router] = [new LocalStore(process.argv[2]), ...process.argv.slice(3).map(JSON.parse)];"
        "putJson(store, 'runs/run-desk-1', 'router.json', router).then((artifact) => {"
        "  const versions = [{ ...version, judgedRouter: { kind: router.kind, artifact } }];"
        "  return store.swapDocument('registry/desk.json', { agent: 'desk', active: 1, versions }, null);"
        "});"
    )
    texts = [json.dumps(version), json.dumps(router)]
    subprocess.run(["node", "-e", script, str(ROOT / "dist" / "store"), str(store), *texts], check=True)


@pytest.fixture(scope="module")
def stored(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    store = tmp_path_factory.mktemp("store")
    adapters = save_adapters(model, store)
    promote(store, adapters)
    return store, adapters


@pytest.fixture
def gateway(url: str, stored: tuple, tmp_path: Path) -> Iterator[Served]:
    """The gateway, whose version has the router `logits`; its adapters are loaded."""
    store, adapters = stored
    reserved = LocalPort()
    port = reserved.number
    agent = {"name": "desk", "baseModel": SERVED_NAME, "replicas": [f"{url}/v1"], "router": {"timeoutMs": 30_000}}
    config = json.dumps({"version": 1, "port": port, "agents": [agent]})
    variables = {"WHET_STORE": str(store), "WHET_GATEWAY_CONFIG": config}
    with (tmp_path / "gateway.log").open("wb") as log:
        process = subprocess.Popen(
            ["node", str(ROOT / "dist" / "gateway" / "main.js")],
            env={**os.environ, **variables},
            stdout=log,
            stderr=log,
        )
    served = Served(f"http://127.0.0.1:{port}", store, adapters)
    try:
        wait_until(lambda: process.poll() is None and is_ready(served.url))
        yield served
    finally:
        process.terminate()
        process.wait(30)
        reserved.close()


def test_adapters_are_loaded_answer_otherwise_than_base_and_come_back_when_vllm_has_lost_them(
    gateway: Served, url: str
) -> None:
    said = {name: ask(gateway.url, name)[0] for name in gateway.adapters.values()}
    base, headers = ask(gateway.url, "desk@base")
    assert len({base, *said.values()}) == 3
    # What the gateway forwards is what vLLM says itself.
    assert base == ask(url, SERVED_NAME)[0] and headers["x-whet-adapter"] == "base"
    name, text = next(iter(said.items()))
    assert ask(url, name)[0] == text
    # As after a restart of vLLM: the reconciler finds the adapter gone and loads it again.
    assert post(f"{url}/v1/unload_lora_adapter", {"lora_name": name})[0] == 200

    def is_back() -> bool:
        body = {"model": name, "messages": QUESTION, "temperature": 0, "max_tokens": 24}
        status, answer, _ = post(f"{gateway.url}/v1/chat/completions", body)
        return status == 200 and answer["choices"][0]["message"]["content"] == text

    wait_until(is_back)


def test_requests_with_seeds_do_not_end_vllm(gateway: Served) -> None:
    # On a processor its generator cannot be set back, which it is for a prompt that is read in parts.
    long = [{"role": "user", "content": "put item 7 on shelf b please " * 60}]
    with ThreadPoolExecutor(48) as pool:
        asked = [pool.submit(ask, gateway.url, "desk@base", long, seed=seed, temperature=1) for seed in range(96)]
        assert all(one.result()[1] for one in asked)
    assert is_ready(gateway.url)


def labels(url: str, text: str) -> dict[str, float]:
    """The probabilities of the router's labels, asked of vLLM itself."""
    menu = sorted(SUMMARIES.values())
    lines = [f"{label}: {summary}" for label, summary in zip("ABC", [*menu, "none of these"], strict=True)]
    prompt = f"Which skill does this task need?\nTask: {text}\n" + "\n".join(lines) + "\nAnswer:"
    body = {
        "model": SERVED_NAME,
        "messages": [{"role": "user", "content": prompt}],
        "temperature": 0,
        "max_tokens": 1,
        "logprobs": True,
        "top_logprobs": 20,
        "structured_outputs": {"choice": ["A", "B", "C"]},
    }
    _, answer, _ = post(f"{url}/v1/chat/completions", body)
    alternatives = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    # What is ruled out has -9999, and the rest is renormalised.
    assert {one["token"] for one in alternatives if one["logprob"] > -1000} <= {"A", "B", "C"}
    assert min(one["logprob"] for one in alternatives) < -9000
    return {one["token"]: math.exp(one["logprob"]) for one in alternatives if one["token"] in "ABC"}


def capability_of(label: str) -> str | None:
    by_summary = {summary: name for name, summary in SUMMARIES.items()}
    return None if label == "C" else by_summary[sorted(SUMMARIES.values())["AB".index(label)]]


def openings(url: str, most: int) -> list[tuple[str, dict[str, float]]]:
    """Tasks with the probabilities of their labels."""
    places = [(number, shelf) for number in range(6) for shelf in ("a", "b")]
    texts = [f"{verb} item {number} on shelf {shelf}" for verb in ("put", "get") for number, shelf in places][:most]
    return [(text, labels(url, text)) for text in texts]


def test_the_router_reads_the_labels_that_vllm_allows(gateway: Served, url: str) -> None:
    routed = set()
    for text, shares in openings(url, 8):
        expected = capability_of(max(shares, key=lambda label: shares[label]))
        _, headers = ask(gateway.url, "desk", [{"role": "user", "content": text}], max_tokens=1)
        adapter = "base" if expected is None else gateway.adapters[expected]
        assert (headers["x-whet-adapter"], headers["x-whet-route"]) == (adapter, "routed")
        routed.add(adapter)
    with urllib.request.urlopen(f"{gateway.url}/metrics") as answer:
        metrics = answer.read().decode()
    # vLLM does not say how probable the labels were among all tokens, so nothing is counted.
    assert "whet_gateway_router_covered_mass_count" not in metrics
    assert routed


def test_tokens_are_counted_as_vllm_counts_them(gateway: Served, url: str) -> None:
    asked = {"model": "desk", "messages": QUESTION}
    status, answer, _ = post(f"{gateway.url}/v1/messages/count_tokens", asked)
    assert status == 200
    assert answer == {"input_tokens": post(f"{url}/tokenize", {"model": SERVED_NAME, "messages": QUESTION})[1]["count"]}
