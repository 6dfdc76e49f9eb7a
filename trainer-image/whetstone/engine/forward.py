"""The forward pass over packed tokens, and the key/value cache.

In a matrix product of at least four rows, a row has the same bits whatever the other rows are. For fewer rows, BLAS
libraries use another kernel. So the rows that share an adapter are padded to a multiple of ROW_MULTIPLE. Cache lengths
are also rounded up, and the positions beyond the real length are masked to exact zeros.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from .weights import FusedLinear, Weights, rotary_table

# Units: rows of a matrix product, and tokens of a cached sequence.
ROW_MULTIPLE, LENGTH_MULTIPLE = 4, 32


def round_up(value: int, multiple: int) -> int:
    """Smallest multiple of `multiple` that is at least `value`."""
    return -(-value // multiple) * multiple


@dataclass
class Segment:
    """Rows `start:stop` of a packed batch, which use one adapter; None is the base model."""

    start: int
    stop: int
    adapter: str | None


class KeyValueCache:
    """Keys and values of `slots` sequences, with one more slot for padding rows.

    There is one tensor per layer, `[2, slots + 1, kv_heads, length, head_dim]`; `mask[slot, position]` is 0 for visible
    positions and -inf elsewhere.
    """

    def __init__(self, weights: Weights, slots: int, length: int) -> None:
        shape = weights.shape
        self.slots, self.length = slots, length
        size = (2, slots + 1, shape.kv_heads, length, shape.head_dim)
        # NumPy's zeros need no memory until they are written, so unused slots cost nothing.
        self.layers = [torch.from_numpy(np.zeros(size, np.float32)).to(weights.device) for _ in range(shape.layers)]
        self.flat = [layer.view(-1, shape.head_dim) for layer in self.layers]
        self.mask = torch.full((slots + 1, length), -torch.inf, device=weights.device)
        self.mask[:, 0] = 0.0
        heads = torch.arange(2)[:, None] * (slots + 1) * shape.kv_heads + torch.arange(shape.kv_heads)
        self._head_rows = (heads.flatten() * length).to(weights.device)
        self._slot_stride = shape.kv_heads * length

    def write_rows(self, slot: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        """Indices into `flat` for the keys and then the values of each row: `[rows, 2 * kv_heads]`."""
        return (slot * self._slot_stride + position)[:, None] + self._head_rows

    def reset_mask(self, slot: int, length: int) -> None:
        """Makes exactly the first `length` positions of a slot visible to decoding; position 0 is always visible."""
        self.mask[slot, max(length, 1) :] = -torch.inf
        self.mask[slot, : max(length, 1)] = 0.0

    def clear(self, slot: int) -> None:
        """Zeros a slot. Masked numbers are still part of sums, multiplied by zero, and NaN times zero is NaN."""
        for layer in self.layers:
            layer[:, slot] = 0.0
        self.reset_mask(slot, 0)

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        """Copies the first `length` positions of one slot to another."""
        for layer in self.layers:
            layer[:, target, :, :length] = layer[:, source, :, :length]


@dataclass
class Rows:
    """The packed rows of one forward pass: cache slot and position of each, `[rows]`, in segments of one adapter."""

    slot: torch.Tensor
    position: torch.Tensor
    segments: list[Segment]


class Network:
    """The network over packed batches: `prefill` processes runs of new tokens, `decode` one token for each sequence.

    With `exact`, decoding computes attention with the kernel of prefill (four query rows instead of one), so that a
    cached prefix gives the same bits as a fresh prefill. Without grouped-query attention that costs about a quarter of
    the decoding speed; with groups of four or more heads it costs nothing.
    """

    def __init__(self, weights: Weights, cache: KeyValueCache, exact: bool) -> None:
        self.weights, self.cache, self.exact = weights, cache, exact
        self.rotations = rotary_table(weights.shape, cache.length, weights.device)
        self._positions = torch.arange(cache.length, device=weights.device)
        self._epsilon = weights.shape.norm_eps * weights.shape.hidden

    def _norm(self, x: torch.Tensor) -> torch.Tensor:
        """x / sqrt(sum(x^2) + hidden * eps); the norm's weight and sqrt(hidden) are in the next matrix."""
        scale = torch.linalg.vecdot(x, x).add_(self._epsilon).rsqrt_()
        return x * scale.unsqueeze(1)

    def _linear(
        self, linear: FusedLinear, x: torch.Tensor, segments: list[Segment], add_to: torch.Tensor | None = None
    ):
        """x @ matrix of each segment's adapter, `[rows, out]`. With `add_to`, the product is added to it in place."""
        out = torch.empty(x.shape[0], linear.base.shape[1], device=x.device) if add_to is None else add_to
        merged = self.weights.merge
        if not merged or len(segments) == 1:
            matrix = linear.adapted[segments[0].adapter] if merged and segments[0].adapter else linear.base
            _multiply(x, matrix, out, add_to is not None)
        for segment in segments if len(segments) > 1 or not merged else ():
            rows = slice(segment.start, segment.stop)
            if merged:
                matrix = linear.adapted[segment.adapter] if segment.adapter else linear.base
                _multiply(x[rows], matrix, out[rows], add_to is not None)
            elif segment.adapter:
                for part in linear.adapted[segment.adapter]:
                    out[rows, part.start : part.stop].addmm_(x[rows] @ part.a, part.b)
        return out

    def _blocks(self, tokens: torch.Tensor, rows: Rows, attend) -> torch.Tensor:
        """Hidden states before the last norm, `[rows, hidden]`. `attend(layer, q)` returns a tensor of q's shape."""
        shape, segments = self.weights.shape, rows.segments
        count = tokens.shape[0]
        rotary = self.rotations[rows.position]
        write = self.cache.write_rows(rows.slot, rows.position)
        rotated = shape.heads + shape.kv_heads
        x = self.weights.embedding[tokens]
        for index, layer in enumerate(self.weights.layers):
            qkv = self._linear(layer.qkv, self._norm(x), segments).view(count, -1, shape.head_dim)
            torch.view_as_complex(qkv[:, :rotated].unflatten(2, (-1, 2))).mul_(rotary)
            self.cache.flat[index].index_put_((write,), qkv[:, shape.heads :])
            mixed = attend(index, qkv[:, : shape.heads])
            self._linear(layer.o, mixed.reshape(count, -1), segments, add_to=x)
            gate_up = self._linear(layer.gate_up, self._norm(x), segments)
            gate, up = gate_up[:, : shape.inner], gate_up[:, shape.inner :]
            self._linear(layer.down, F.silu(gate).mul_(up), segments, add_to=x)
        return x

    def _logits(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mm(self._norm(x), self.weights.head)

    def decode(self, tokens: torch.Tensor, rows: Rows, row_of_slot: torch.Tensor | None, span: int, length: int):
        """Logits `[rows, vocab]` for one new token per row.

        `span` is the number of leading cache slots that hold the rows. `length` is a bound on their positions + 1.
        `row_of_slot [span]` is the row of each slot (None: row i is slot i). The rows' positions become visible.
        """
        shape, cache = self.weights.shape, self.cache
        cache.mask[rows.slot, rows.position] = 0.0
        length = min(round_up(length, LENGTH_MULTIPLE), cache.length)
        mask = cache.mask[:span, None, None, :length]
        pad = max(shape.group, 4) if self.exact else shape.group
        if pad > shape.group:
            queries = torch.zeros(span, shape.kv_heads, pad, shape.head_dim, device=tokens.device)
            weights = torch.zeros(span, shape.kv_heads, pad, length, device=tokens.device)

        def attend(index: int, q: torch.Tensor) -> torch.Tensor:
            if row_of_slot is not None:
                q = q[row_of_slot]
            q = q.reshape(span, shape.kv_heads, shape.group, shape.head_dim)
            if pad > shape.group:
                queries[:, :, : shape.group] = q
                q = queries
            keys, values = cache.layers[index][:, :span, :, :length]
            scores = torch.matmul(q, keys.transpose(2, 3))[:, :, : shape.group]
            chance = torch.softmax(scores.add_(mask), -1)
            if pad > shape.group:
                weights[:, :, : shape.group] = chance
                chance = weights
            mixed = torch.matmul(chance, values)[:, :, : shape.group].reshape(span, shape.heads, shape.head_dim)
            return mixed if row_of_slot is None else mixed[rows.slot.clamp(max=span - 1)]

        return self._logits(self._blocks(tokens, rows, attend))

    def prefill(self, tokens: torch.Tensor, rows: Rows, runs: list[tuple[int, int, int, int]]) -> torch.Tensor:
        """Logits `[len(runs), vocab]` of the last token of each run.

        A run `(row, count, slot, position)` is `count` packed rows starting at `row`; they are tokens of `slot`
        starting at `position`.
        """
        shape, cache = self.weights.shape, self.cache
        width = round_up(max(count for _, count, _, _ in runs), ROW_MULTIPLE)
        length = min(round_up(max(p + c for _, c, _, p in runs), LENGTH_MULTIPLE), cache.length)
        device = tokens.device
        first, count, slots, start = (torch.tensor(column, device=device) for column in zip(*runs, strict=True))
        offset = torch.arange(width, device=device)
        padded = torch.minimum(first[:, None] + offset, (first + count - 1)[:, None])
        hidden = (
            self._positions[:length] > torch.minimum(start[:, None] + offset, (start + count - 1)[:, None])[:, :, None]
        )
        mask = torch.zeros(len(runs), 1, 1, width, length, device=device).masked_fill_(
            hidden[:, None, None], -torch.inf
        )
        packed = torch.zeros(tokens.shape[0], dtype=torch.long, device=device)
        for number, (row, size, _, _) in enumerate(runs):
            packed[row : row + size] = torch.arange(size, device=device) + number * width

        def attend(index: int, q: torch.Tensor) -> torch.Tensor:
            keys, values = cache.layers[index][:, slots, :, :length]
            q = q[padded].view(len(runs), width, shape.kv_heads, shape.group, shape.head_dim).permute(0, 2, 3, 1, 4)
            q = q.reshape(len(runs), shape.kv_heads, shape.group * width, shape.head_dim)
            scores = torch.matmul(q, keys.transpose(2, 3)).unflatten(2, (shape.group, width)).add_(mask)
            chance = torch.softmax(scores, -1).flatten(2, 3)
            mixed = torch.matmul(chance, values).unflatten(2, (shape.group, width)).permute(0, 3, 1, 2, 4)
            return mixed.reshape(len(runs) * width, shape.heads, shape.head_dim)[packed]

        x = self._blocks(tokens, rows, attend)
        last = first + count - 1
        short = -len(runs) % ROW_MULTIPLE
        if short:
            last = torch.cat([last, last[-1:].expand(short)])
        return self._logits(x[last])[: len(runs)]


def _multiply(x: torch.Tensor, matrix: torch.Tensor, out: torch.Tensor, adds: bool) -> None:
    """Writes x @ matrix to `out`, or adds it."""
    if adds:
        out.addmm_(x, matrix)
    else:
        torch.mm(x, matrix, out=out)
