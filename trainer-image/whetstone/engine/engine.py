"""Continuous batching over a fixed number of cache slots."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import dataclass, field
from itertools import groupby

import torch

from .adapter import Adapter
from .choice import ChoiceTrie
from .forward import ROW_MULTIPLE, KeyValueCache, Network, Rows, Segment
from .sampling import broken_rows, pick_tokens, uniforms
from .slots import Slot, SlotTable
from .weights import Weights

# The name of the weights without an adapter.
BASE = ""
NOT_FINITE = "the model's output is not finite; its adapter holds numbers that are too large"
# A step with this many new prompt tokens admits no more prompts.
PREFILL_TOKENS = 4096
# There is an archive of idle sequences only if all slots together need at most this much memory.
ARCHIVE_BYTES = 512 * 2**20


class NotFinite(ArithmeticError):
    """The model's output is NaN or infinite, so no token can be sampled."""


@dataclass(eq=False)
class Request:
    """One completion to generate, and its growing result.

    `adapter` is a loaded adapter's name or None. `temperature` 0 is greedy. `choices` restricts the completion to one
    of these token sequences. `stop` are the ids that end it; None: the model's own. `top_logprobs` None requests no
    log-probabilities; 0 requests only those of the sampled tokens. Log-probabilities are in nats and belong to the
    distribution before temperature and `choices`. `tokens` includes a sampled end-of-turn token. `finish` becomes
    "stop", "length", "aborted" or "failed"; for "failed", `error` says why.
    """

    prompt: list[int]
    max_tokens: int
    seed: int = 0
    temperature: float = 1.0
    adapter: str | None = None
    choices: list[list[int]] | None = None
    stop: tuple[int, ...] | None = None
    top_logprobs: int | None = None
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    top: list[list[tuple[int, float]]] = field(default_factory=list)
    cached_tokens: int = 0
    finish: str | None = None
    error: str | None = None
    _slot: Slot | None = None
    _trie: ChoiceTrie | None = None
    _uniforms: list[float] = field(default_factory=list)


class Engine:
    """Generates for many requests at once: call `submit`, then `step` until the request's `finish` is set.

    `slots` is the largest batch, `length` the longest sequence in tokens. With `exact`, a request's tokens depend
    neither on the other requests nor on the state of the cache (see Network). Without it, decoding is faster, but a
    cached prefix equals a fresh one only up to rounding.
    """

    def __init__(self, weights: Weights, slots: int, length: int | None = None, exact: bool = True) -> None:
        shape = weights.shape
        self.weights = weights
        self.length = min(length or 1024, shape.max_positions)
        per_slot = 8 * shape.layers * shape.kv_heads * shape.head_dim * self.length
        archive = slots if exact and 2 * slots * per_slot <= ARCHIVE_BYTES else 0
        self._cache = KeyValueCache(weights, slots + archive, self.length)
        self._network = Network(weights, self._cache, exact)
        self._slots = SlotTable(self._cache, slots)
        self._waiting: deque[Request] = deque()
        self._running: list[Request] = []
        self._plan: _DecodePlan | None = None
        self._versions: dict[str, int] = {BASE: 0}
        self._loads = 0

    @property
    def idle(self) -> bool:
        """True if no request waits or runs."""
        return not self._waiting and not self._running

    @property
    def running(self) -> int:
        """Number of running requests."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Number of requests that wait for a slot."""
        return len(self._waiting)

    def submit(self, request: Request) -> None:
        """Queues a request.

        Raises ValueError for an empty prompt, for a prompt that fills the sequence length, and for an unknown adapter.
        `max_tokens` is cut to the remaining length.
        """
        room = self.length - len(request.prompt)
        if not request.prompt or room < 1:
            raise ValueError(f"the prompt has {len(request.prompt)} tokens, the model takes 1 to {self.length - 1}")
        if request.adapter is not None and request.adapter not in self.weights.adapters:
            raise ValueError(f"adapter {request.adapter} is not loaded")
        request.max_tokens = min(request.max_tokens, room)
        request._uniforms = uniforms(request.seed, request.max_tokens).tolist()
        if request.choices is not None:
            request._trie = ChoiceTrie(request.choices, self.weights.shape.eos_ids[0])
        self._waiting.append(request)

    def abort(self, request: Request) -> None:
        """Drops a request whose client has disconnected; its `finish` becomes "aborted"."""
        if request in self._running:
            self._end(request, "aborted")
            self._running.remove(request)
            self._plan = None
        elif request in self._waiting:
            self._waiting.remove(request)
            request.finish = "aborted"

    def uses(self, adapter: str) -> bool:
        """True while a request with this adapter waits or runs."""
        return any(request.adapter == adapter for request in (*self._running, *self._waiting))

    @torch.inference_mode()
    def put_adapter(self, name: str, adapter: Adapter) -> None:
        """Adds or replaces an adapter; raises ValueError while a request uses the adapter with this name.

        If it raises, the previous adapter with this name remains.
        """
        if self.uses(name):
            raise ValueError(f"adapter {name} is in use")
        self.weights.put_adapter(name, adapter)
        self._forget(name)
        self._loads += 1
        self._versions[name] = self._loads

    def drop_adapter(self, name: str) -> None:
        """Removes an adapter and its cache; raises ValueError while a request uses it."""
        if self.uses(name):
            raise ValueError(f"adapter {name} is in use")
        self.weights.drop_adapter(name)
        self._forget(name)

    def _forget(self, name: str) -> None:
        if name in self._versions:
            self._slots.forget(self._version(name))
            del self._versions[name]

    @torch.inference_mode()
    def step(self) -> list[Request]:
        """Admits requests that fit, generates a token for each running request, returns the requests that ended."""
        ended = self._admit() if self._waiting and self._slots.free else []
        if self._running:
            ended += self._decode()
        return ended

    def run(self, requests: list[Request]) -> None:
        """Generates for these requests until all have ended."""
        for request in requests:
            self.submit(request)
        while not self.idle:
            self.step()

    def _version(self, adapter: str | None) -> str:
        return f"{adapter or BASE}@{self._versions[adapter or BASE]}"

    def _admit(self) -> list[Request]:
        admitted, tokens = [], 0
        while self._waiting and self._slots.free and (not admitted or tokens < PREFILL_TOKENS):
            request = self._waiting.popleft()
            request._slot, request.cached_tokens = self._slots.acquire(request.prompt, self._version(request.adapter))
            tokens += len(request.prompt) - request.cached_tokens
            admitted.append(request)
        admitted.sort(key=lambda r: r.adapter or BASE)
        ids, slots, positions, segments, runs = [], [], [], [], []
        # Rollouts of one task begin with the same prompt. It is computed for one of them; the others get a copy of its
        # keys and values.
        firsts: dict[tuple, tuple[Request, int]] = {}
        copies, places = [], []
        for adapter, group in groupby(admitted, key=lambda r: r.adapter):
            start = len(ids)
            for request in group:
                first = firsts.setdefault((adapter, *request.prompt), (request, len(runs)))
                if first[0] is not request and not request.cached_tokens:
                    copies.append((first[0], request))
                    places.append(first[1])
                    continue
                places.append(len(runs))
                new = request.prompt[request.cached_tokens :]
                runs.append((len(ids), len(new), request._slot.index, request.cached_tokens))
                ids += new
                slots += [request._slot.index] * len(new)
                positions += range(request.cached_tokens, len(request.prompt))
            pad = -(len(ids) - start) % ROW_MULTIPLE
            ids, slots, positions = ids + [0] * pad, slots + [self._cache.slots] * pad, positions + [0] * pad
            segments.append(Segment(start, len(ids), adapter))
        device = self.weights.device
        packed, slot, position = torch.tensor([ids, slots, positions], device=device)
        logits = self._network.prefill(packed, Rows(slot, position, segments), runs)
        for first, request in copies:
            self._cache.copy_prefix(first._slot.index, request._slot.index, len(request.prompt))
        logits = logits[places] if copies else logits
        for request in admitted:
            request._slot.ids = list(request.prompt)
            self._cache.reset_mask(request._slot.index, len(request.prompt))
        self._running += admitted
        self._plan = None
        return self._sample(admitted, logits)

    def _decode(self) -> list[Request]:
        if self._plan is None:
            self._plan = _DecodePlan(self._running, self._cache.slots, self.weights.device)
        plan = self._plan
        logits = self._network.decode(plan.tokens, plan.rows, plan.row_of_slot, plan.span, plan.length)
        for request in plan.requests:
            request._slot.ids.append(request.tokens[-1])
        count = len(plan.requests)
        ended = self._sample(plan.requests, logits if logits.shape[0] == count else logits[plan.real])
        if self._plan is plan:
            plan.advance(self._picked)
        return ended

    def _sample(self, requests: list[Request], logits: torch.Tensor) -> list[Request]:
        """Picks the next token of each request from its row of `logits`; returns the requests that ended."""
        raw = logits
        constrained = [(row, request) for row, request in enumerate(requests) if request._trie]
        if constrained:
            logits = logits.clone()
            for row, request in constrained:
                allowed = request._trie.allowed()
                kept = logits[row, allowed]
                logits[row] = -torch.inf
                logits[row, allowed] = kept
        uniform = [request._uniforms[len(request.tokens)] for request in requests]
        self._picked = pick_tokens(logits, [request.temperature for request in requests], uniform)
        picked = self._picked.tolist()
        # They are found in the raw logits, because a choice puts minus infinity into a row.
        broken = frozenset(broken_rows(raw))
        if any(request.top_logprobs is not None for request in requests):
            self._report(requests, raw, picked)
        ended = []
        eos = self.weights.shape.eos_ids
        for row, (request, token) in enumerate(zip(requests, picked, strict=True)):
            if row in broken:
                request.error = NOT_FINITE
                self._end(request, "failed")
                ended.append(request)
                continue
            request.tokens.append(token)
            if request._trie is not None:
                stop = request._trie.advance(token)
            else:
                stop = token in (eos if request.stop is None else request.stop)
            if stop or len(request.tokens) >= request.max_tokens:
                self._end(request, "stop" if stop else "length")
                ended.append(request)
        if ended:
            self._running = [request for request in self._running if request.finish is None]
            self._plan = None
        return ended

    def _report(self, requests: list[Request], logits: torch.Tensor, picked: list[int]) -> None:
        logprobs = torch.log_softmax(logits, -1)
        for row, (request, token) in enumerate(zip(requests, picked, strict=True)):
            if request.top_logprobs is None:
                continue
            request.logprobs.append(logprobs[row, token].item())
            if request.top_logprobs:
                values, ids = logprobs[row].topk(min(request.top_logprobs, logprobs.shape[1]))
                request.top.append(list(zip(ids.tolist(), values.tolist(), strict=True)))

    def _end(self, request: Request, finish: str) -> None:
        request.finish = finish
        if finish == "failed":
            request._slot.ids = []
            self._cache.clear(request._slot.index)
        self._slots.release(request._slot)


class _DecodePlan:
    """The rows of the decode steps between two changes of the running set."""

    def __init__(self, running: list[Request], trash: int, device: torch.device) -> None:
        self.requests = sorted(running, key=lambda r: (r.adapter or BASE, r._slot.index))
        tokens, slots, positions, segments = [], [], [], []
        real = []
        for adapter, group in groupby(self.requests, key=lambda r: r.adapter):
            start = len(tokens)
            for request in group:
                real.append(len(tokens))
                tokens.append(request.tokens[-1])
                slots.append(request._slot.index)
                positions.append(len(request._slot.ids))
            pad = -(len(tokens) - start) % ROW_MULTIPLE
            tokens, slots, positions = tokens + [0] * pad, slots + [trash] * pad, positions + [0] * pad
            segments.append(Segment(start, len(tokens), adapter))
        self.tokens, slot, position = torch.tensor([tokens, slots, positions], device=device)
        self.rows = Rows(slot, position, segments)
        self.real = torch.tensor(real, device=device)
        self._padded = len(real) != len(tokens)
        self.span = 1 + max(request._slot.index for request in running)
        self.length = 1 + max(positions)
        self.row_of_slot = None
        if slots != list(range(self.span)):
            where = [0] * self.span
            for row, index in zip(real, (r._slot.index for r in self.requests), strict=True):
                where[index] = row
            self.row_of_slot = torch.tensor(where, device=device)

    def advance(self, picked: torch.Tensor) -> None:
        """Advances every row to its next position, with the tokens `picked`."""
        self.length += 1
        if self._padded:
            self.tokens[self.real] = picked
            self.rows.position[self.real] += 1
        else:
            self.tokens = picked
            self.rows.position += 1


def derive_seed(*parts: int | str) -> int:
    """A 63-bit seed from a tuple of integers and strings, the same on every machine."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
