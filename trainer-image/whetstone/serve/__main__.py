"""`python -m whetstone.serve`: the policy server's command line."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .app import Doors

# Number of parameters: below it, one thread is the fastest.
SMALL_MODEL = 20_000_000


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m whetstone.serve", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="directory written by save_pretrained")
    parser.add_argument("--port", type=int, required=True, help="0 takes a free one")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--served-name", help="default: the directory's name")
    parser.add_argument("--max-batch", type=int, default=64, help="requests that decode together")
    parser.add_argument(
        "--max-length", type=int, default=2048, help="tokens of prompt and completion, at most the model's"
    )
    parser.add_argument("--threads", type=int, help="default: 1 for models under 20M parameters, else all cores")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--lora", action="append", default=[], metavar="NAME=DIR", help="adapter to load at start")
    parser.add_argument(
        "--adapters",
        action="append",
        type=Path,
        metavar="DIR",
        help="folder out of which adapters may be loaded over HTTP; default: WHET_STORE, or else none",
    )
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name under which clients reach a server on a loopback address",
    )
    parser.add_argument("--admin-port", type=int, help="port of its own for adapters and /metrics; default: the API's")
    parser.add_argument("--admin-host", default="127.0.0.1", help="address of that port")
    parser.add_argument(
        "--unready-seconds",
        type=float,
        default=0,
        help="after SIGTERM, how long requests are still taken while /readyz says no; for load balancers",
    )
    parser.add_argument("--drain-seconds", type=int, default=30, help="after that, for requests under way")
    arguments = parser.parse_args(argv)
    ports = (arguments.port, arguments.admin_port or 0)
    if arguments.max_batch < 1 or arguments.max_length < 8 or not all(0 <= port < 65536 for port in ports):
        parser.error("--max-batch must be at least 1, --max-length at least 8, --port and --admin-port 0 to 65535")
    if not 0 <= arguments.unready_seconds < 3600 or not 0 <= arguments.drain_seconds < 86400:
        parser.error("--unready-seconds must be 0 to 3600, --drain-seconds 0 to 86400")
    return arguments


def _fail(message: str) -> None:
    print(f"whetstone.serve: {message}", file=sys.stderr)
    raise SystemExit(2)


def _bind(host: str, port: int, flag: str = "--port") -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        _fail(f"cannot listen on {host} port {port}: {error.strerror}; stop what uses it or choose another {flag}")
    return listener


def _is_loopback(host: str) -> bool:
    return host == "localhost" or host.startswith("127.") or host == "::1"


def _doors(arguments: argparse.Namespace, admin: socket.socket | None) -> Doors:
    from .app import Doors

    store = os.environ.get("WHET_STORE")
    folders = arguments.adapters if arguments.adapters is not None else [Path(store)] if store else []
    return Doors(
        local_only=_is_loopback(arguments.host),
        names=frozenset(name.lower() for name in arguments.allowed_host),
        adapters=tuple(folder.resolve() for folder in folders),
        admin_port=None if admin is None else admin.getsockname()[1],
        admin_local_only=_is_loopback(arguments.admin_host),
    )


def main(argv: list[str] | None = None) -> None:
    """Serves until SIGTERM or SIGINT, then finishes open requests and exits 0.

    After SIGTERM the server first reports unready for --unready-seconds; a second signal ends that wait. A bad model or
    port gives exit code 2. If the engine dies, open requests are answered and the process exits 1.
    """
    arguments = _arguments(argv)
    listener = _bind(arguments.host, arguments.port)
    admin = None
    if arguments.admin_port is not None:
        admin = _bind(arguments.admin_host, arguments.admin_port, "--admin-port")
        # The port of a request says whether it comes from an operator.
        if admin.getsockname()[1] == listener.getsockname()[1]:
            _fail("--admin-port is the same as --port; choose another, also where the addresses differ")
    if not (arguments.model / "config.json").exists():
        _fail(f"{arguments.model} is not a model directory (no config.json); give one written by save_pretrained")

    import dataclasses
    import functools

    import torch
    import uvicorn

    from whetstone.chat import Chat
    from whetstone.engine import Engine, ModelError, Weights
    from whetstone.tree_hash import tree_sha256

    from .app import PolicyServer
    from .connection import BACKLOG, Connection, Room, most_connections
    from .requests import ApiError

    try:
        chat = Chat(arguments.model)
        weights = Weights.read(arguments.model, arguments.device)
        eos = tuple(chat.end_ids())
        if not eos:
            _fail(f"{arguments.model}: neither the model nor the tokenizer names an end-of-turn token")
        weights.shape = dataclasses.replace(weights.shape, eos_ids=eos)
        # A small model is slower with two threads than with one as soon as other processes need the cores.
        torch.set_num_threads(arguments.threads or (1 if weights.parameters < SMALL_MODEL else os.cpu_count() or 1))
        engine = Engine(weights, arguments.max_batch, arguments.max_length)
        name = arguments.served_name or arguments.model.resolve().name
        server = PolicyServer(engine, chat, name, tree_sha256(arguments.model), _doors(arguments, admin))
        for entry in arguments.lora:
            name, _, directory = entry.partition("=")
            server.adapters.load_at_start(name, directory)
    except (ModelError, ApiError) as error:
        _fail(str(error))

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self):
            loop = asyncio.get_running_loop()

            def close() -> None:
                self.should_exit = True

            def stop() -> None:
                if server.stopping or not arguments.unready_seconds:
                    close()
                server.stopping = True
                loop.call_later(arguments.unready_seconds, close)

            loop.add_signal_handler(signal.SIGTERM, stop)
            loop.add_signal_handler(signal.SIGINT, close)
            yield

        async def startup(self, sockets=None) -> None:
            await super().startup(sockets)
            host, port = listener.getsockname()[:2]
            print(f"listening on http://{host}:{port}", flush=True)
            if admin is not None:
                host, port = admin.getsockname()[:2]
                print(f"adapters and metrics on http://{host}:{port}", flush=True)

    died = False

    def end() -> None:
        nonlocal died
        died = running.should_exit = True
        config.timeout_graceful_shutdown = 2

    config = uvicorn.Config(
        server.app,
        http=functools.partial(Connection, room=Room(most_connections())),
        backlog=BACKLOG,
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=arguments.drain_seconds,
        timeout_keep_alive=300,
        server_header=False,
    )
    running = Server(config)
    server.on_death = end
    running.run(sockets=[listener] if admin is None else [listener, admin])
    if died:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
