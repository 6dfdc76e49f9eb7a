"""The HTTP routes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import jinja2
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from whetstone.chat import Chat
from whetstone.engine import Adapter, Engine, ModelError, Request, merge_adapters, read_adapter

from .answers import Answer
from .engine_loop import EngineLoop, Ticket
from .requests import ApiError, ChatRequest, parse_chat_request

# Seconds after which the server checks whether a request's client is still connected.
WATCH_CLIENT_AFTER = 2.0


class PolicyServer:
    """One base model, its adapters, and the routes over them.

    `adapters` maps served names to the directory each came from. A name is taken out before its weights are, so that
    requests under way finish on the weights they started with. `weights_sha256` is the hash of the base model's
    directory (tree_hash). Every answer carries its beginning: a client notices when this address serves another model.
    """

    def __init__(self, engine: Engine, chat: Chat, served_name: str, weights_sha256: str) -> None:
        self._engine, self._chat, self._served_name = engine, chat, served_name
        self._weights_sha256 = weights_sha256
        self._adapters: dict[str, str] = {}
        self._started = int(time.time())
        self._loop: EngineLoop | None = None
        self._driver: asyncio.Task | None = None
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", _guard(self._complete), methods=["POST"]),
                Route("/v1/models", _guard(self._models)),
                Route("/v1/load_lora_adapter", _guard(self._load), methods=["POST"]),
                Route("/v1/unload_lora_adapter", _guard(self._unload), methods=["POST"]),
                Route("/healthz", self._health),
            ],
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self._loop = EngineLoop(self._engine)
        self._driver = asyncio.create_task(self._loop.run())
        try:
            yield
        finally:
            self._driver.cancel()

    def load(self, name: str, directory: str, replace: bool = False) -> None:
        """Loads an adapter before the server runs; raises ApiError."""
        self._check_name(name, replace)
        try:
            self._engine.put_adapter(name, read_adapter(Path(directory), self._engine.weights.shape))
        except ModelError as error:
            raise ApiError(400, str(error), "lora_path") from None
        self._adapters[name] = directory

    def _check_name(self, name: str, replace: bool) -> None:
        if name == self._served_name or (name in self._adapters and not replace):
            raise ApiError(400, f"a model called {name} is already served; unload it or take another name", "lora_name")

    async def _health(self, _http: HttpRequest) -> Response:
        if self._driver is None or self._driver.done():
            return JSONResponse({"status": "engine stopped"}, 503)
        return JSONResponse({"status": "ok", "model": self._served_name})

    async def _models(self, _http: HttpRequest) -> Response:
        def card(name: str, root: str, parent: str | None) -> dict:
            made = {"id": name, "object": "model", "created": self._started, "owned_by": "whetstone"}
            return {**made, "root": root, "parent": parent, "max_model_len": self._engine.length}

        base = card(self._served_name, self._served_name, None)
        cards = [{**base, "weights_sha256": self._weights_sha256}]
        cards += [card(name, root, self._served_name) for name, root in self._adapters.items()]
        return JSONResponse({"object": "list", "data": cards})

    async def _load(self, http: HttpRequest) -> Response:
        name, path, body = await _adapter_fields(http)
        replace = body.get("load_inplace") is True
        self._check_name(name, replace)
        if "lora_mixture" in body:
            adapter, path = self._mixture(body["lora_mixture"]), f"mixture of {len(body['lora_mixture'])}"
        else:
            adapter = self._read(path, "lora_path")
        await self._drain(name)
        await self._loop.between_steps(lambda: self._engine.put_adapter(name, adapter))
        self._adapters[name] = path
        return PlainTextResponse(f"Success: LoRA adapter '{name}' added successfully.")

    def _read(self, path: str, field: str) -> Adapter:
        try:
            return read_adapter(Path(path), self._engine.weights.shape)
        except ModelError as error:
            raise ApiError(400, str(error), field) from None

    def _mixture(self, parts: object) -> Adapter:
        """The weighted sum of loaded adapters; raises ApiError (400, 404)."""
        if not isinstance(parts, list) or not parts or not all(_is_part(part) for part in parts):
            message = 'lora_mixture must be a list of {"lora_name": string, "weight": number above 0}'
            raise ApiError(400, message, "lora_mixture")
        for part in parts:
            if part["lora_name"] not in self._adapters:
                raise ApiError(404, f"adapter {part['lora_name']} is not loaded", "lora_mixture", "model_not_found")
        read = [
            (self._read(self._adapters[part["lora_name"]], "lora_mixture"), float(part["weight"])) for part in parts
        ]
        return merge_adapters(read)

    async def _unload(self, http: HttpRequest) -> Response:
        name, _, _ = await _adapter_fields(http)
        if name not in self._adapters:
            raise ApiError(404, f"adapter {name} is not loaded", "lora_name", "model_not_found")
        await self._drain(name)
        await self._loop.between_steps(lambda: self._engine.drop_adapter(name))
        return PlainTextResponse(f"Success: LoRA adapter '{name}' removed successfully.")

    async def _drain(self, name: str) -> None:
        """Takes the name out of service and waits for the requests that use it."""
        self._adapters.pop(name, None)
        while self._engine.uses(name):
            await asyncio.sleep(0.005)

    async def _complete(self, http: HttpRequest) -> Response:
        asked = parse_chat_request(await _json(http))
        request = self._request(asked)
        if self._driver.done():
            raise ApiError(500, "the engine has stopped; restart the server")
        try:
            ticket = await self._loop.submit(request, watch=asked.stream)
        except ValueError as error:
            code = "context_length_exceeded" if "tokens" in str(error) else None
            raise ApiError(400, str(error), "messages", code) from None
        answer = Answer(self._chat, asked, request, self._engine.weights.shape.eos_ids, self._weights_sha256)
        if asked.stream:
            return StreamingResponse(self._stream(answer, ticket), media_type="text/event-stream")
        try:
            await self._wait(ticket, http)
        except asyncio.CancelledError:
            await self._loop.abort(ticket)
            raise
        except Exception as error:
            raise ApiError(500, f"the engine failed: {error}; restart the server") from error
        return JSONResponse(answer.whole())

    async def _wait(self, ticket: Ticket, http: HttpRequest) -> None:
        """Waits for the end of a request, and gives it up when its client has gone. Raises what the engine raised."""
        done, _ = await asyncio.wait([ticket.ended], timeout=WATCH_CLIENT_AFTER)
        if not done:
            gone = asyncio.ensure_future(http.receive())
            await asyncio.wait([ticket.ended, gone], return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            if not ticket.ended.done():
                await self._loop.abort(ticket)
        await ticket.ended

    def _request(self, asked: ChatRequest) -> Request:
        if asked.model != self._served_name and asked.model not in self._adapters:
            raise ApiError(404, f"The model `{asked.model}` does not exist.", "model", "model_not_found")
        try:
            prompt = self._chat.encode(self._chat.render(asked.messages, asked.tools))
        except jinja2.TemplateError as error:
            raise ApiError(400, f"the chat template refused the messages: {error}", "messages") from None
        return Request(
            prompt=prompt,
            max_tokens=asked.max_tokens or self._engine.length,
            seed=asked.seed,
            temperature=asked.temperature,
            adapter=None if asked.model == self._served_name else asked.model,
            choices=[self._chat.encode(choice) for choice in asked.choices] if asked.choices else None,
            top_logprobs=asked.top_logprobs,
        )

    async def _stream(self, answer: Answer, ticket: Ticket) -> AsyncIterator[str]:
        try:
            yield answer.opening()
            while not ticket.ended.done():
                await ticket.changed.wait()
                ticket.changed.clear()
                chunk = answer.progress() if not ticket.ended.done() else None
                if chunk:
                    yield chunk
            for chunk in answer.closing():
                yield chunk
        finally:
            await self._loop.abort(ticket)


def _guard(handler):
    """Turns ApiError into its answer."""

    async def guarded(http: HttpRequest) -> Response:
        try:
            return await handler(http)
        except ApiError as error:
            return JSONResponse(error.body(), error.status)

    return guarded


async def _json(http: HttpRequest):
    try:
        return json.loads(await http.body())
    except ValueError as error:
        raise ApiError(400, f"the body is not JSON: {error}") from None


def _is_part(part: object) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("lora_name"), str):
        return False
    weight = part.get("weight")
    return isinstance(weight, (int, float)) and not isinstance(weight, bool) and 0 < weight < float("inf")


async def _adapter_fields(http: HttpRequest) -> tuple[str, str, dict]:
    """Name, path (empty where none is needed) and body of an adapter call; raises ApiError."""
    body = await _json(http)
    loads = http.url.path.endswith("/load_lora_adapter")
    needed = (
        ("lora_name", "lora_path")
        if loads and "lora_mixture" not in (body if isinstance(body, dict) else {})
        else ("lora_name",)
    )
    for name in needed:
        if not isinstance(body, dict) or not isinstance(body.get(name), str) or not body[name]:
            raise ApiError(400, f"{name} must be a non-empty string", name)
    return body["lora_name"], body.get("lora_path", ""), body
