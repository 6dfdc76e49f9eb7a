"""The HTTP routes."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import jinja2
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from whetstone.chat import Chat
from whetstone.chat.dialects import plain_dialect_of
from whetstone.cut_text import start_of
from whetstone.engine import Engine, Request

from .adapters import Adapters
from .answers import Answer
from .engine_loop import EngineLoop, Ticket
from .incoming import check_sender, read_json
from .metrics import Metrics
from .requests import ApiError, ChatRequest, parse_chat_request, printable

# The port at which a route is answered.
Side = Literal["api", "admin"]
# Seconds after which the server checks whether a request's client is still connected.
WATCH_CLIENT_AFTER = 2.0
# Allowed bytes of a body beyond the longest prompt's text, and largest number of bytes of a character of that text
# (\u0000).
BODY_SLACK, BYTES_OF_CHARACTER = 65_536, 6
# Longer messages are rendered outside the event loop.
QUICK_MESSAGES = 65_536


@dataclass(frozen=True)
class Doors:
    """The checks of senders and bodies.

    `local_only`: the server listens on a loopback address. `names` are its further host names. Adapters may be loaded
    over HTTP only from the resolved folders `adapters`. With `admin_port`, only that port loads adapters and serves
    metrics, and only the other port makes completions.
    """

    local_only: bool = False
    names: frozenset[str] = frozenset()
    adapters: tuple[Path, ...] = ()
    admin_port: int | None = None
    admin_local_only: bool = True

    def check(self, http: HttpRequest, side: Side | None) -> None:
        """Raises ApiError unless the request came to an allowed port. None: by either."""
        is_admin = self.admin_port is not None and http.scope["server"][1] == self.admin_port
        check_sender(http, self.admin_local_only if is_admin else self.local_only, self.names)
        if self.admin_port is not None and side is not None and (side == "admin") != is_admin:
            place = "the port of --admin-port" if side == "admin" else "the other port"
            raise ApiError(404, f"{http.scope['path'][:200]} is answered at {place}", code="unknown_route")


class PolicyServer:
    """One base model, its adapters, and the routes for them.

    `weights_sha256` is the hash of the base model's directory (tree_hash). Every answer contains its first digits, so
    that a client notices if this address serves another model.
    """

    def __init__(self, engine: Engine, chat: Chat, served_name: str, weights_sha256: str, doors: Doors) -> None:
        self._engine, self._chat, self._served_name, self._doors = engine, chat, served_name, doors
        self._dialect = plain_dialect_of(chat.source, chat.response_template)
        self._weights_sha256 = weights_sha256
        # Called when the engine has died. Then only a restart helps.
        self.on_death: Callable[[], None] = lambda: None
        self._body_limit = BODY_SLACK + BYTES_OF_CHARACTER * chat.largest_text(engine.length)
        self._tokenizing = ThreadPoolExecutor(1, "tokenize")
        self._metrics = Metrics()
        # Set when the process has been asked to stop: it still serves, but accepts no further clients.
        self.stopping = False
        self.adapters = Adapters(engine, served_name, doors.adapters)
        self._started = int(time.time())
        self._loop: EngineLoop | None = None
        self._driver: asyncio.Task | None = None
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self._guard(self._complete, "api"), methods=["POST"]),
                Route("/tokenize", self._guard(self._tokenize, "api"), methods=["POST"]),
                Route("/v1/models", self._guard(self._models)),
                Route("/v1/load_lora_adapter", self._guard(self._load, "admin"), methods=["POST"]),
                Route("/v1/unload_lora_adapter", self._guard(self._unload, "admin"), methods=["POST"]),
                Route("/metrics", self._guard(self._show_metrics, "admin")),
                Route("/healthz", self._health),
                Route("/readyz", self._readiness),
            ],
            exception_handlers={HTTPException: self._no_route},
            lifespan=self._lifespan,
        )
        # Such a redirect would lead to the host in the request, before that host has been checked.
        self.app.router.redirect_slashes = False

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self._loop = EngineLoop(self._engine)
        self._driver = asyncio.create_task(self._loop.run())
        self._driver.add_done_callback(self._driver_ended)
        # Otherwise each full garbage collection reads all objects of the libraries and the model, and nobody is
        # answered for 130 ms. A few thousand small lists in a body are enough to start one.
        gc.collect()
        gc.freeze()
        try:
            yield
        finally:
            gc.unfreeze()
            self._driver.cancel()
            self._tokenizing.shutdown(wait=False, cancel_futures=True)

    def _driver_ended(self, driver: asyncio.Task) -> None:
        error = None if driver.cancelled() else driver.exception()
        if error is not None:
            print("whetstone.serve: the engine failed, so the server ends", file=sys.stderr)
            traceback.print_exception(error)
            self.on_death()

    async def _health(self, _http: HttpRequest) -> Response:
        if self._driver is None or self._driver.done():
            return JSONResponse({"status": "engine stopped"}, 503)
        return JSONResponse({"status": "ok", "model": self._served_name})

    async def _no_route(self, http: HttpRequest, error: HTTPException) -> Response:
        """Answers a path without a route here, and a route with another method."""

        async def refuse(_http: HttpRequest) -> Response:
            asked = f"{http.method[:20]} {http.scope['path'][:200]}"
            if error.status_code == 405:
                allowed = (error.headers or {}).get("Allow", "another method")
                raise ApiError(405, f"{asked} is no route of this server; it takes {allowed}", code="unknown_method")
            raise ApiError(error.status_code, f"{asked} is no route of this server", code="unknown_route")

        response = await self._guard(refuse)(http)
        if response.status_code == error.status_code:
            response.headers.update(error.headers or {})
        return response

    def _is_ready(self) -> bool:
        return not self.stopping and self._driver is not None and not self._driver.done()

    async def _readiness(self, _http: HttpRequest) -> Response:
        if self._is_ready():
            return JSONResponse({"status": "ready"})
        return JSONResponse({"status": "stopping" if self.stopping else "engine stopped"}, 503)

    async def _show_metrics(self, _http: HttpRequest) -> Response:
        text = self._metrics.text(self._engine, len(self.adapters), self._is_ready())
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _models(self, _http: HttpRequest) -> Response:
        def card(name: str, root: str, parent: str | None) -> dict:
            made = {"id": name, "object": "model", "created": self._started, "owned_by": "whetstone"}
            return {**made, "root": root, "parent": parent, "max_model_len": self._engine.length}

        base = card(self._served_name, self._served_name, None)
        cards = [{**base, "weights_sha256": self._weights_sha256}]
        cards += [card(name, root, self._served_name) for name, root in self.adapters.roots()]
        return JSONResponse({"object": "list", "data": cards})

    async def _load(self, http: HttpRequest) -> Response:
        body = await self._adapter_call(http)
        if "lora_mixture" not in body:
            _check_string(body, "lora_path")
        await self.adapters.load(body, self._loop)
        return PlainTextResponse(f"Success: LoRA adapter '{printable(body['lora_name'])}' added successfully.")

    async def _unload(self, http: HttpRequest) -> Response:
        body = await self._adapter_call(http)
        await self.adapters.unload(body["lora_name"], self._loop)
        return PlainTextResponse(f"Success: LoRA adapter '{printable(body['lora_name'])}' removed successfully.")

    async def _adapter_call(self, http: HttpRequest) -> dict:
        """The body, with a lora_name; raises ApiError."""
        body = await read_json(http, BODY_SLACK)
        if not isinstance(body, dict):
            raise ApiError(400, "the body must be an object with lora_name")
        _check_string(body, "lora_name")
        return body

    async def _complete(self, http: HttpRequest) -> Response:
        asked = parse_chat_request(await read_json(http, self._body_limit))
        request = await self._request(asked)
        if self._driver.done():
            raise ApiError(503, "the engine has stopped; the server is restarted")
        try:
            ticket = await self._loop.submit(request, watch=asked.stream)
        except ValueError as error:
            code = "context_length_exceeded" if "tokens" in str(error) else None
            raise ApiError(400, str(error), "messages", code) from None
        ticket.ended.add_done_callback(lambda _: self._metrics.ended(request))
        eos = self._engine.weights.shape.eos_ids
        answer = Answer(self._chat, self._dialect, asked, request, eos, self._weights_sha256)
        if asked.stream:
            return StreamingResponse(self._stream(answer, ticket), media_type="text/event-stream")
        try:
            await self._wait(ticket, http)
        except asyncio.CancelledError:
            await self._loop.abort(ticket)
            raise
        except Exception as error:
            raise ApiError(500, f"the engine failed: {error}; the server is restarted") from error
        if request.error is not None:
            raise _failed(request)
        return JSONResponse(answer.whole())

    async def _tokenize(self, http: HttpRequest) -> Response:
        """The ids of the prompt that a conversation would have: vLLM's route, for messages only."""
        request = await self._request(parse_chat_request(await read_json(http, self._body_limit)))
        length = self._engine.length
        return JSONResponse({"count": len(request.prompt), "max_model_len": length, "tokens": request.prompt})

    async def _wait(self, ticket: Ticket, http: HttpRequest) -> None:
        """Waits for the end of a request, and aborts it if its client has disconnected. Raises the engine's error."""
        done, _ = await asyncio.wait([ticket.ended], timeout=WATCH_CLIENT_AFTER)
        if not done:
            gone = asyncio.ensure_future(http.receive())
            await asyncio.wait([ticket.ended, gone], return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            if not ticket.ended.done():
                await self._loop.abort(ticket)
        await ticket.ended

    def _check_model(self, name: str) -> None:
        if name != self._served_name and name not in self.adapters:
            raise ApiError(404, f"The model `{start_of(name, 200)}` does not exist.", "model", "model_not_found")

    async def _request(self, asked: ChatRequest) -> Request:
        """Renders and tokenizes a request. Long work runs in a thread, so that others need not wait."""
        self._check_model(asked.model)
        if len(asked.messages) > self._engine.length:
            raise self._too_long("messages")
        loop = asyncio.get_running_loop()
        is_quick = sum(len(message["content"] or "") for message in asked.messages) <= QUICK_MESSAGES
        if is_quick:
            text = self._render(asked)
            is_quick = all(map(self._chat.is_quick, (text, *(asked.choices or ()))))
        if is_quick:
            prompt, choices = self._encode(text, asked.choices)
        else:
            prompt, choices = await loop.run_in_executor(
                self._tokenizing, lambda: self._encode(self._render(asked), asked.choices)
            )
            self._check_model(asked.model)
        return Request(
            prompt=prompt,
            max_tokens=asked.max_tokens or self._engine.length,
            seed=asked.seed,
            temperature=asked.temperature,
            adapter=None if asked.model == self._served_name else asked.model,
            choices=choices,
            top_logprobs=asked.top_logprobs,
        )

    def _render(self, asked: ChatRequest) -> str:
        try:
            return self._chat.render(asked.messages, asked.tools)
        except (jinja2.TemplateError, TypeError) as error:
            raise ApiError(400, f"the chat template refused the messages: {error}", "messages") from None

    def _encode(self, text: str, choices: list[str] | None) -> tuple[list[int], list[list[int]] | None]:
        """Token ids of a prompt and of its choices.

        Raises ApiError for a text that is too long, before it is tokenized.
        """
        length = self._engine.length
        if not self._chat.fits(text, length):
            raise self._too_long("messages")
        if choices is None:
            return self._chat.encode(text), None
        if not all(self._chat.fits(choice, length) for choice in choices) or sum(map(len, choices)) > 65_536:
            raise self._too_long("structured_outputs")
        return self._chat.encode(text), [self._chat.encode(self._chat.guarded(choice, "user")) for choice in choices]

    def _too_long(self, field: str) -> ApiError:
        message = f"{field} cannot fit: the model takes 1 to {self._engine.length - 1} tokens"
        return ApiError(400, f"{message}, and no words of thousands of letters", field, "context_length_exceeded")

    async def _stream(self, answer: Answer, ticket: Ticket) -> AsyncIterator[str]:
        try:
            yield answer.opening()
            while not ticket.ended.done():
                await ticket.changed.wait()
                ticket.changed.clear()
                chunk = answer.progress() if not ticket.ended.done() else None
                if chunk:
                    yield chunk
            if ticket.ended.exception() is not None:
                raise ticket.ended.exception()
            if ticket.request.error is not None:
                yield f"data: {json.dumps(_failed(ticket.request).body())}\n\n"
                return
            for chunk in answer.closing():
                yield chunk
        finally:
            await self._loop.abort(ticket)

    def _guard(self, handler, side: Side | None = None):
        """Admits only allowed requests, and turns every error into an answer in OpenAI's format."""

        async def guarded(http: HttpRequest) -> Response:
            response = await answered(http)
            self._metrics.answered(response.status_code)
            if self.stopping:
                # So the client's next request goes to another server.
                response.headers["connection"] = "close"
            return response

        async def answered(http: HttpRequest) -> Response:
            try:
                self._doors.check(http, side)
                return await handler(http)
            except ApiError as error:
                return _refusal(error)
            except RecursionError:
                return _refusal(ApiError(400, "the body is nested too deeply"))
            except ClientDisconnect:
                return Response(status_code=499)
            except Exception:
                traceback.print_exc()
                return _refusal(ApiError(500, "the server failed; its log says why"))

        return guarded


def _check_string(body: dict, name: str) -> None:
    value = body.get(name)
    if not isinstance(value, str) or not value or len(value) > 4096:
        raise ApiError(400, f"{name} must be a non-empty string of at most 4096 characters", name)


def _refusal(error: ApiError) -> Response:
    headers = {"connection": "close"} if error.status in (408, 413) else None
    return JSONResponse(error.body(), error.status, headers)


def _failed(request: Request) -> ApiError:
    return ApiError(500, request.error, "model", "not_finite")
