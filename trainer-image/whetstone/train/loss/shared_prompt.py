"""Log-probabilities of rollouts with a common prefix, which is computed once, for transformers models.

The prompts of an iteration begin with the same system message and the same tools. Within one group the whole prompts
are the same. The common prefix passes through the model once and leaves its keys and values in a cache, to which the
rest of every rollout attends. The cache keeps its graph, so that the adapter's gradient also comes from the prefix's
keys and values.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import torch
from peft import PeftModel
from transformers import DynamicCache
from transformers.cache_utils import get_layer_types_and_kwargs

# Implementations of attention for which a cache with padded rows is tested.
ATTENTION = ("eager", "sdpa")
# Rotary embeddings whose frequencies depend on the length of the text.
LENGTH_DEPENDENT = ("dynamic", "longrope")
# Sharing must leave at most this share of the tokens, because two passes are not worthwhile for a few tokens less.
WORTHWHILE = 0.9


def shares_prompts(model: PeftModel) -> bool:
    """Whether the model can process a common prefix separately: the cache must contain everything that later tokens
    need of it.

    False for layers with a sliding window, convolutions or a state. False with gradient checkpointing, which keeps no
    cache. False if the router of a mixture of experts has a loss over whole rollouts.
    """
    base = model.get_base_model()
    config = base.config.get_text_config(decoder=True)
    if base._is_stateful or "past_key_values" not in inspect.signature(type(base).forward).parameters:
        return False
    # The modules are asked, since transformers has renamed the model's own property.
    if any(getattr(module, "gradient_checkpointing", False) for module in base.modules()):
        return False
    if getattr(config, "output_router_logits", False):
        return False
    if config._attn_implementation not in ATTENTION or _rope_types(config) & set(LENGTH_DEPENDENT):
        return False
    layer_types, _ = get_layer_types_and_kwargs(config)
    return set(layer_types) == {"full_attention"}


def _rope_types(config) -> set[str]:
    """The kinds of rotary embeddings. Some models have one for each type of layer."""
    rope = getattr(config, "rope_parameters", None) or {}
    each = [rope, *(value for value in rope.values() if isinstance(value, dict))]
    return {one["rope_type"] for one in each if "rope_type" in one}


@dataclass(frozen=True)
class Part:
    """Rollouts that pass through the model together; their first `shared` tokens are equal and processed once."""

    rows: list[int]
    shared: int


def make_parts(rows: list[list[int]], prompts: list[int]) -> list[Part] | None:
    """How the rollouts share prefixes; None if that saves little.

    `rows` are their tokens, `prompts` the lengths of their prompts. There are two ways: all share their common prefix,
    or rollouts with the same prompt share that prompt. The way with fewer tokens is chosen. The last token of a prompt
    is never shared, since it predicts the first token of the completion. A single rollout shares nothing.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, (row, prompt) in enumerate(zip(rows, prompts, strict=True)):
        groups.setdefault(tuple(row[:prompt]), []).append(number)

    def part(numbers: list[int]) -> Part:
        if len(numbers) == 1:
            return Part(numbers, 0)
        beginnings = [rows[number][: max(0, prompts[number] - 1)] for number in numbers]
        # The common prefix of all is that of the smallest and the largest.
        first, last = min(beginnings), max(beginnings)
        same = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
        return Part(numbers, min(len(first), len(last)) if same is None else same)

    width = max(map(len, rows))

    def tokens(parts: list[Part]) -> int:
        # The count assumes padding to one width, since less padding alone does not justify several passes.
        return sum(one.shared + len(one.rows) * (width - one.shared) for one in parts)

    every = list(range(len(rows)))
    best = min([part(every)], [part(numbers) for numbers in groups.values()], key=tokens)
    return best if tokens(best) <= WORTHWHILE * tokens([Part(every, 0)]) else None


def shared_logprobs(
    model: PeftModel, ids: torch.Tensor, attention: torch.Tensor, completion: int, batch_size: int
) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Log-probabilities and entropies of the last `completion` columns, `[rows, completion]`, in nats; zero in padding.

    None if the rollouts have too little in common. `ids` and `attention` `[rows, columns]` are TRL's, with prompts
    padded on the left and completions on the right. The model has TRL's fused head, which computes the
    log-probabilities in chunks. At most `batch_size` rollouts pass through the model together.
    """
    found = []
    for start in range(0, len(ids), batch_size):
        chunk = slice(start, start + batch_size)
        values = _chunk(model, ids[chunk], attention[chunk], completion)
        if values is None:
            return None
        found.append(values)
    logprobs, entropies = zip(*found, strict=True)
    return torch.cat(logprobs), torch.cat(entropies)


def _chunk(model, ids, attention, completion) -> tuple[torch.Tensor, torch.Tensor] | None:
    present = attention.bool()
    rows = [row[kept].tolist() for row, kept in zip(ids, present, strict=True)]
    prompts = present[:, :-completion].sum(1).tolist()
    parts = make_parts(rows, prompts)
    if parts is None:
        return None
    answers = [_read(model, rows, prompts, part, completion, ids.device) for part in parts]
    # Restores the order of the rows.
    order = torch.tensor([number for part in parts for number in part.rows], device=ids.device).argsort()
    counts = present[:, -completion:]
    logprobs, entropies = (torch.cat(kind)[order] for kind in zip(*answers, strict=True))
    return logprobs.masked_fill(~counts, 0), entropies.masked_fill(~counts, 0)


def _read(model, rows, prompts, part: Part, completion: int, device) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and entropies of a part, `[rows of the part, completion]`; padding has arbitrary values."""
    rests = [rows[number][part.shared :] for number in part.rows]
    openings = [prompts[number] - part.shared for number in part.rows]
    width = max(2, *map(len, rests))
    # Padding is on the right, where no token attends to it, so that positions continue those of the prefix.
    ids = torch.zeros(len(rests), width, dtype=torch.long)
    present, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
    for place, (rest, opening) in enumerate(zip(rests, openings, strict=True)):
        ids[place, : len(rest)] = torch.tensor(rest)
        present[place, : len(rest)] = 1
        labels[place, opening : len(rest)] = ids[place, opening : len(rest)]
    ids, present, labels = ids.to(device), present.to(device), labels.to(device)
    cache = None
    if part.shared:
        cache = _beginning(model, torch.tensor([rows[part.rows[0]][: part.shared]], device=device), len(rests))
        present = torch.cat([present.new_ones(len(rests), part.shared), present], 1)
    out = model(input_ids=ids, attention_mask=present, past_key_values=cache, labels=labels, fused_lm_head=True)
    # The model gives a value for each token except the first, predicted from the token before it.
    first = torch.tensor(openings, device=device)[:, None] - 1
    columns = (first + torch.arange(completion, device=device)).clamp(0, width - 2)
    return out.log_probs.gather(1, columns), out.entropy.gather(1, columns)


def _beginning(model, ids: torch.Tensor, copies: int) -> DynamicCache:
    """Keys and values of a prefix `[1, tokens]`, repeated for this many rollouts."""
    cache = DynamicCache(config=model.get_base_model().config)
    model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
    for layer in cache.layers:
        layer.keys = layer.keys.expand(copies, -1, -1, -1)
        layer.values = layer.values.expand(copies, -1, -1, -1)
    return cache
