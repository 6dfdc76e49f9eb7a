"""Tier: integration. What connections may send before a request is whole, and how many there may be."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fixtures.server import ServerProcess

ASK = [{"role": "user", "content": "put item 7 on shelf b please"}]
GET = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"
MEGABYTE = 2**20

FEW_DESCRIPTORS = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
"""
IMPATIENT = """
import whetstone.serve.connection as connection
connection.HEAD_SECONDS = 0.2
"""
PATIENCE = 3
PATIENT = IMPATIENT.replace("0.2", str(PATIENCE))
# Small buffers in the kernel, so that an answer waits in the server.
UNREAD_IS_CLOSED = """
import socket
import whetstone.serve.connection as connection
connection.UNREAD_SECONDS = 0.5
made = connection.Connection.connection_made
def made_small(self, transport):
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    made(self, transport)
connection.Connection.connection_made = made_small
"""
# Its one place for a connection is taken by whoever has a request under way.
ONE_CONNECTION = """
import whetstone.serve.connection as connection
connection.most_connections = lambda: 1
"""
# A request that is not given up is under way for 20 s.
SLOW_ENGINE = """
import time
import whetstone.engine
step = whetstone.engine.Engine.step
def slow_step(self):
    time.sleep(0.05)
    return step(self)
whetstone.engine.Engine.step = slow_step
"""
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def server(tiny_dir: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tiny_dir, "--served-name", "tiny") as process:
        yield process


def connect(server: ServerProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def answer(client: socket.socket) -> tuple[int, dict]:
    response = http.client.HTTPResponse(client)
    response.begin()
    return response.status, json.loads(response.read())


@pytest.mark.parametrize(
    "start",
    [GET + b"x: ", GET, b"GET /", GET + b"transfer-encoding: chunked\r\n\r\n1;", GET[:-2] + b"\r\ncookie: a\r\n"],
    ids=["one header", "many headers", "url", "chunk extension", "headers after a cookie"],
)
def test_a_head_without_end_is_cut(server: ServerProcess, start: bytes) -> None:
    more = b"h: v\r\n" * 20_000 if start.endswith(b"\n") else b"a" * 120_000
    with connect(server) as client, contextlib.suppress(OSError):
        client.sendall(start)
        for _ in range(16 * MEGABYTE // len(more)):
            client.sendall(more)
        pytest.fail("16 MiB were taken")
    assert server.request("GET", "/healthz")[0] == 200


def test_trailers_without_end_are_cut_and_never_headers(server: ServerProcess) -> None:
    body = json.dumps({"model": "tiny", "messages": ASK, "max_tokens": 1}).encode()
    head = HEAD
    head += b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n" % (len(body), body)
    with connect(server) as client:
        client.sendall(head + b"origin: https://evil.example\r\n\r\n")
        assert answer(client)[0] == 200
    with connect(server) as client, contextlib.suppress(OSError):
        client.sendall(head)
        for _ in range(160):
            client.sendall(b"h: v\r\n" * 20_000)
        pytest.fail("16 MiB of trailers were taken")


@pytest.mark.parametrize("head", [GET + b"x: " + b"a" * 200_000, b"GET /" + b"a" * 200_000])
def test_a_long_head_is_refused_in_openais_form(server: ServerProcess, head: bytes) -> None:
    with connect(server) as client:
        client.sendall(head)
        status, body = answer(client)
        assert (status, body["error"]["code"]) == (431, "headers_too_large")


def test_what_is_no_http_is_refused_in_openais_form(server: ServerProcess) -> None:
    with connect(server) as client:
        client.sendall(b"no http at all\r\n\r\n")
        status, body = answer(client)
        assert (status, set(body["error"])) == (400, {"message", "type", "param", "code"})


def test_headers_of_a_usual_size_and_requests_one_after_another_pass(server: ServerProcess) -> None:
    with connect(server) as client:
        for _ in range(5):
            client.sendall(GET + b"cookie: " + b"a" * 60_000 + b"\r\n\r\n")
            assert answer(client)[0] == 200
        client.sendall((GET + b"cookie: " + b"a" * 30_000 + b"\r\n\r\n") * 20 + GET + b"connection: close\r\n\r\n")
        with client.makefile("rb") as answers:
            assert answers.read().count(b"HTTP/1.1 200 OK") == 21


def test_a_connection_that_sends_no_request_is_closed(tiny_dir: Path) -> None:
    with ServerProcess(tiny_dir, "--served-name", "tiny", patch=IMPATIENT) as process:
        with connect(process) as silent:
            assert silent.recv(1) == b""
        with connect(process) as slow:
            slow.sendall(GET)
            status, body = answer(slow)
            assert (status, body["error"]["code"]) == (408, "request_timeout")


def test_a_connection_that_stops_after_a_request_is_closed(tiny_dir: Path) -> None:
    # Between connecting and sending, this test may be held up for a while.
    with ServerProcess(tiny_dir, "--served-name", "tiny", patch=PATIENT) as process:
        with connect(process) as later:
            later.sendall(GET + b"\r\n")
            assert answer(later)[0] == 200
            later.sendall(GET)
            assert answer(later)[0] == 408
        with connect(process) as unread:
            unread.sendall(GET + b"content-length: 1000\r\n\r\n")
            assert answer(unread)[0] == 200
            unread.sendall(b"x")
            assert unread.recv(1) == b""


def test_a_connection_whose_body_came_after_its_answer_stays_open(tiny_dir: Path) -> None:
    with ServerProcess(tiny_dir, "--served-name", "tiny", patch=PATIENT) as process, connect(process) as client:
        client.sendall(GET + b"content-length: 2\r\n\r\n")
        assert answer(client)[0] == 200
        client.sendall(b"x")
        client.sendall(b"y")
        client.settimeout(2 * PATIENCE)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(60)
        client.sendall(GET + b"\r\n")
        assert answer(client)[0] == 200


def test_silent_connections_lock_nobody_out(tiny_dir: Path) -> None:
    few = ServerProcess(tiny_dir, "--served-name", "tiny", patch=FEW_DESCRIPTORS)
    with few as process, contextlib.ExitStack() as silent:
        for _ in range(600):
            silent.enter_context(connect(process))
        for _ in range(3):
            assert process.request("GET", "/healthz")[0] == 200
            assert process.chat(messages=ASK, max_tokens=1)["choices"]


def test_a_request_under_way_keeps_its_connection(tiny_dir: Path) -> None:
    asked = json.dumps({"model": "tiny", "messages": ASK, "stream": True, "max_tokens": 400}).encode()
    head = HEAD
    with ServerProcess(tiny_dir, "--served-name", "tiny", patch=ONE_CONNECTION) as process:
        with connect(process) as first:
            first.sendall(head + b"content-length: %d\r\n\r\n%b" % (len(asked), asked))
            assert first.recv(12) == b"HTTP/1.1 200"
            with connect(process) as second:
                status, body = answer(second)
                assert (status, body["error"]["code"]) == (503, "too_many_connections")
        assert process.chat(messages=ASK, max_tokens=1)["choices"]


def completion(head: bytes = b"", **fields: object) -> bytes:
    body = json.dumps({"model": "tiny", "messages": ASK, "temperature": 0, "ignore_eos": True, **fields}).encode()
    return HEAD + head + b"content-length: %d\r\n\r\n%b" % (len(body), body)


def ask_for_much(server: ServerProcess, tokens: int = 300, head: bytes = b"") -> socket.socket:
    client = socket.socket()
    client.settimeout(60)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", server.port))
    client.sendall(completion(head, max_tokens=tokens, logprobs=True, top_logprobs=20))
    return client


@pytest.mark.parametrize("head", [b"", b"connection: close\r\n"], ids=["kept", "closing"])
@pytest.mark.parametrize("tokens", [40, 300])
def test_a_client_that_does_not_read_its_answer_is_cut_off(tiny_dir: Path, tokens: int, head: bytes) -> None:
    with (
        ServerProcess(tiny_dir, "--served-name", "tiny", patch=UNREAD_IS_CLOSED) as process,
        ask_for_much(process, tokens, head) as client,
    ):
        watched = select.poll()
        watched.register(client, 0)
        assert watched.poll(300_000), "it still waits for its reader"
        assert process.chat(messages=ASK, max_tokens=1)["choices"]


def test_a_client_that_reads_slowly_gets_its_whole_answer(tiny_dir: Path) -> None:
    # The time limit is far above the pauses of this client, on a machine that is busy, too.
    patch = UNREAD_IS_CLOSED.replace("0.5", "20")
    with ServerProcess(tiny_dir, "--served-name", "tiny", patch=patch) as process, ask_for_much(process) as client:
        response = http.client.HTTPResponse(client)
        response.begin()
        text = b""
        while piece := response.read1(16_384):
            text += piece
            time.sleep(0.05)
        assert len(text) > 100_000 and json.loads(text)["choices"]


def test_an_answer_that_nobody_reads_makes_room(tiny_dir: Path) -> None:
    patch = UNREAD_IS_CLOSED.replace("0.5", "3600") + ONE_CONNECTION
    with (
        ServerProcess(tiny_dir, "--served-name", "tiny", patch=patch) as process,
        ask_for_much(process, 40, b"connection: close\r\n") as client,
    ):
        # From the first bytes on the answer is whole, and waits.
        assert client.recv(1) == b"H"
        assert process.request("GET", "/healthz")[0] == 200


def test_a_client_that_goes_away_is_not_answered_whatever_it_sent_behind(tiny_dir: Path) -> None:
    with ServerProcess(tiny_dir, "--served-name", "tiny", patch=SLOW_ENGINE) as process:

        def metric(name: str) -> int:
            text = process.request("GET", "/metrics")[1]
            return int(next(line for line in text.splitlines() if line.startswith(f"whet_policy_{name} ")).split()[1])

        with connect(process) as client:
            client.sendall(completion(max_tokens=400) + GET + b"\r\n")
            while metric("running") == 0:
                time.sleep(0.1)
        while metric("completion_tokens_total") == 0:
            time.sleep(0.1)
        assert metric("completion_tokens_total") < 400


def test_requests_sent_ahead_without_end_are_cut(server: ServerProcess) -> None:
    with connect(server) as client:
        client.sendall(completion(max_tokens=400) + (GET + b"\r\n") * 1_000)
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(1) == b""
    assert server.request("GET", "/healthz")[0] == 200


def test_another_protocol_is_not_taken_up_and_no_body_is_lost(server: ServerProcess) -> None:
    upgrade = b"connection: upgrade\r\nupgrade: h2c\r\n"
    with connect(server) as client:
        for _ in range(2):
            client.sendall(GET + upgrade + b"content-length: 0\r\n\r\n")
            assert answer(client)[0] == 200
        client.sendall(completion(upgrade, max_tokens=1))
        status, body = answer(client)
        assert status == 400 and "without the header Upgrade" in body["error"]["message"]
