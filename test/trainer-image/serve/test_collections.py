"""Tier: integration. A full garbage collection stops every client, so it must have little to read."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

from whetstone.chat import Chat
from whetstone.engine import Engine, Weights
from whetstone.serve.app import Doors, PolicyServer


def test_while_it_serves_collections_skip_what_was_there_before(tiny_dir: Path) -> None:
    engine = Engine(Weights.read(tiny_dir, "cpu"), 4, 256)
    server = PolicyServer(engine, Chat(tiny_dir), "tiny", "0" * 64, Doors())

    async def serve() -> tuple[int, int]:
        async with server.app.router.lifespan_context(server.app):
            return gc.get_freeze_count(), len(gc.get_objects())

    skipped, read = asyncio.run(serve())
    assert skipped > 10 * read
    assert gc.get_freeze_count() == 0
