"""Tier: unit. A port that is kept for one server."""

from __future__ import annotations

import socket

import pytest
from whetstone.sampling.local_port import HOST, LocalPort


def listener(port: int, *options: int) -> socket.socket:
    server = socket.socket()
    for option in options:
        server.setsockopt(socket.SOL_SOCKET, option, 1)
    server.bind((HOST, port))
    server.listen()
    return server


@pytest.mark.parametrize("options", [(socket.SO_REUSEADDR, socket.SO_REUSEPORT), (socket.SO_REUSEADDR,)])
def test_a_server_listens_at_its_port_and_gets_every_connection(options: tuple[int, ...]) -> None:
    with LocalPort() as port, listener(port.number, *options) as server:
        for _ in range(20):
            with socket.create_connection((HOST, port.number), timeout=10), server.accept()[0]:
                pass


def test_a_port_that_is_kept_is_given_to_nobody_else() -> None:
    with LocalPort() as kept:
        # A whole range of ports is asked for, so that the kept one would be among them.
        others = [LocalPort() for _ in range(500)]
        try:
            numbers = {other.number for other in others}
            assert len(numbers) == len(others) and kept.number not in numbers
        finally:
            for other in others:
                other.close()
        with pytest.raises(OSError):
            listener(kept.number)
    with listener(kept.number, socket.SO_REUSEADDR):
        pass
