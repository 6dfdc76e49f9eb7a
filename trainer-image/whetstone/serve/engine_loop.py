"""Drives the engine from the server's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from whetstone.engine import Engine, Request

# For models with more parameters, a step takes so long that it runs in a thread, in parallel with HTTP. For smaller
# ones, the thread would cost more than it saves.
INLINE_PARAMETERS = 20_000_000


class Ticket:
    """A request in progress. Await `ended` for its end, or `changed` for each new token (with `watch`)."""

    def __init__(self, request: Request, watch: bool) -> None:
        self.request = request
        self.watch = watch
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.changed = asyncio.Event()


class EngineLoop:
    """Owns the engine. All code that uses it runs in the event loop, between two of the engine's steps."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._threaded = engine.weights.parameters > INLINE_PARAMETERS
        self._work = asyncio.Event()
        self._actions: list[Callable[[], None]] = []
        self._tickets: dict[int, Ticket] = {}
        self._stepping = False

    async def run(self) -> None:
        """Steps the engine for ever; cancel to stop. An exception of the engine also ends every open request."""
        try:
            await self._run()
        except Exception as error:
            for ticket in self._tickets.values():
                ticket.changed.set()
                if not ticket.ended.done():
                    ticket.ended.set_exception(error)
            raise

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if self.engine.idle and not self._actions:
                self._work.clear()
                await self._work.wait()
            actions, self._actions = self._actions, []
            for action in actions:
                action()
            try:
                if self._threaded:
                    self._stepping = True
                    ended = await loop.run_in_executor(None, self.engine.step)
                else:
                    ended = self.engine.step()
            finally:
                self._stepping = False
            for request in ended:
                self._settle(request)
            for ticket in self._tickets.values():
                if ticket.watch:
                    ticket.changed.set()
            # Yields twice. First, finished answers are sent and requests are read. Then the handlers of these requests
            # submit them.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    def _settle(self, request: Request) -> None:
        ticket = self._tickets.pop(id(request), None)
        if ticket is not None:
            ticket.changed.set()
            if not ticket.ended.done():
                ticket.ended.set_result(None)

    async def submit(self, request: Request, watch: bool = False) -> Ticket:
        """Queues a request; raises ValueError as Engine.submit does."""
        ticket = Ticket(request, watch)
        await self.between_steps(lambda: self.engine.submit(request))
        self._tickets[id(request)] = ticket
        return ticket

    async def abort(self, ticket: Ticket) -> None:
        """Drops a request whose client has disconnected."""
        if not ticket.ended.done():
            await self.between_steps(lambda: self.engine.abort(ticket.request))
            self._settle(ticket.request)

    async def between_steps(self, action: Callable[[], None]) -> None:
        """Runs `action` while no step is running; raises its errors."""
        self._work.set()
        if not self._stepping:
            action()
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def run() -> None:
            try:
                action()
            except Exception as error:
                done.set_exception(error)
            else:
                done.set_result(None)

        self._actions.append(run)
        await done
