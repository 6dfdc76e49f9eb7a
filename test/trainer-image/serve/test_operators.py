"""Tier: integration. What operators see of a policy server: its own port for them, and how it goes out of service."""

from __future__ import annotations

import http.client
import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.server import ServerProcess
from whetstone.serve.__main__ import main

ASK = [{"role": "user", "content": "put item 7 on shelf b please"}]


def send(port: int, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, {"content-type": "application/json", **headers})
    answer = connection.getresponse()
    result = answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}
    connection.close()
    return result


@pytest.fixture(scope="module")
def ports(tiny_dir: Path, adapter_dirs: list[Path]) -> Iterator[tuple[int, int]]:
    options = ("--served-name", "tiny", "--adapters", str(adapter_dirs[0].parent), "--admin-port", "0")
    with ServerProcess(tiny_dir, *options) as process:
        line = process.process.stdout.readline()
        yield process.port, int(line.rsplit(":", 1)[1])


def test_clients_can_neither_change_adapters_nor_read_metrics(ports: tuple[int, int], adapter_dirs: list[Path]) -> None:
    api, admin = ports
    load = {"lora_name": "extra", "lora_path": str(adapter_dirs[1])}
    for method, path, body in (
        ("POST", "/v1/load_lora_adapter", load),
        ("POST", "/v1/unload_lora_adapter", {"lora_name": "extra"}),
        ("GET", "/metrics", None),
    ):
        status, text, _ = send(api, method, path, body)
        assert (status, json.loads(text)["error"]["code"]) == (404, "unknown_route")
    assert send(admin, "POST", "/v1/load_lora_adapter", load)[0] == 200
    chat = {"model": "extra", "messages": ASK, "max_tokens": 2}
    assert send(api, "POST", "/v1/chat/completions", chat)[0] == 200
    assert send(admin, "POST", "/v1/chat/completions", chat)[0] == 404
    assert send(admin, "POST", "/v1/unload_lora_adapter", {"lora_name": "extra"})[0] == 200
    assert send(api, "POST", "/v1/chat/completions", chat)[0] == 404


def test_two_addresses_with_one_port_are_refused(tiny_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with pytest.raises(SystemExit) as ended:
        main(["--model", str(tiny_dir), "--port", port, "--admin-host", "127.0.0.2", "--admin-port", port])
    assert ended.value.code == 2
    assert "--admin-port is the same as --port" in capsys.readouterr().err


def test_both_say_what_is_served_and_whether_it_is_ready(ports: tuple[int, int]) -> None:
    for port in ports:
        assert [send(port, "GET", path)[0] for path in ("/v1/models", "/healthz", "/readyz")] == [200, 200, 200]


def test_metrics_count_answers_and_tokens(ports: tuple[int, int]) -> None:
    api, admin = ports

    def values() -> dict[str, float]:
        text = send(admin, "GET", "/metrics")[1]
        lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in lines}

    before = values()
    status, text, _ = send(api, "POST", "/v1/chat/completions", {"model": "tiny", "messages": ASK, "max_tokens": 3})
    assert status == 200
    usage, after = json.loads(text)["usage"], values()
    for name in ("prompt_tokens", "completion_tokens"):
        key = f"whet_policy_{name}_total"
        assert after[key] - before.get(key, 0) == usage[name]
    assert (after["whet_policy_running"], after["whet_policy_waiting"], after["whet_policy_ready"]) == (0, 0, 1)
    assert after['whet_policy_answers_total{status="200"}'] > before['whet_policy_answers_total{status="200"}']


def test_web_pages_do_not_reach_it(ports: tuple[int, int]) -> None:
    load = {"lora_name": "extra", "lora_path": "/"}
    for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
        assert send(ports[1], "POST", "/v1/load_lora_adapter", load, **headers)[0] == 403


def test_sigterm_first_takes_the_server_out_of_service(tiny_dir: Path) -> None:
    with ServerProcess(tiny_dir, "--served-name", "tiny", "--unready-seconds", "600") as process:
        assert send(process.port, "GET", "/readyz")[0] == 200
        process.process.send_signal(signal.SIGTERM)
        while send(process.port, "GET", "/readyz")[0] != 503:
            assert process.process.poll() is None
        chat = {"model": "tiny", "messages": ASK, "max_tokens": 2}
        status, _, headers = send(process.port, "POST", "/v1/chat/completions", chat)
        assert (status, headers["connection"]) == (200, "close")
        assert send(process.port, "GET", "/healthz")[0] == 200
        process.process.send_signal(signal.SIGTERM)
        assert process.process.wait(60) == 0
