"""Shape of a Llama-architecture checkpoint, read from its config.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


class ModelError(Exception):
    """A model or adapter directory is unusable; the message names the place and the fault."""


@dataclass(frozen=True)
class LlamaShape:
    """Sizes of the network, in units of elements.

    `head_dim` is per attention head; `kv_heads` divides `heads` (grouped-query attention).
    """

    vocab: int
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    rope_theta: float
    norm_eps: float
    max_positions: int
    tied: bool
    eos_ids: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise ModelError(f"num_attention_heads ({self.heads}) is not a multiple of kv heads ({self.kv_heads})")
        if self.head_dim % 2:
            raise ModelError(f"head_dim must be even for rotary embeddings, found {self.head_dim}")

    @property
    def group(self) -> int:
        """Number of query heads that share one key/value head."""
        return self.heads // self.kv_heads

    @property
    def linear_sizes(self) -> dict[str, tuple[int, int]]:
        """Columns and rows of each linear layer of a block, by its name in checkpoints."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "q_proj": (self.hidden, queries),
            "k_proj": (self.hidden, keys),
            "v_proj": (self.hidden, keys),
            "o_proj": (queries, self.hidden),
            "gate_proj": (self.hidden, self.inner),
            "up_proj": (self.hidden, self.inner),
            "down_proj": (self.inner, self.hidden),
        }


def _read_json(path: Path) -> dict:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist; give a directory written by save_pretrained") from None
    except json.JSONDecodeError as error:
        raise ModelError(f"{path} is not JSON: {error}") from None


def _ids(value: int | list[int] | None) -> list[int]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def read_shape(directory: Path) -> LlamaShape:
    """Reads `config.json` (and the eos ids of `generation_config.json`) of a checkpoint directory.

    Raises ModelError for a missing file or an unsupported architecture. The engine runs Llama with unscaled rotary
    embeddings, SiLU and no biases; it refuses others rather than compute something else.
    """
    raw = _read_json(directory / "config.json")
    if raw.get("model_type") != "llama":
        raise ModelError(f"{directory}: model_type is {raw.get('model_type')!r}; the engine runs 'llama' checkpoints")
    rope = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise ModelError(f"{directory}: rotary embeddings of type {kind!r} are not supported, only 'default'")
    if raw.get("attention_bias") or raw.get("mlp_bias"):
        raise ModelError(f"{directory}: checkpoints with linear biases are not supported")
    if raw.get("hidden_act", "silu") != "silu":
        raise ModelError(f"{directory}: hidden_act is {raw['hidden_act']!r}, only 'silu' is supported")
    eos = _ids(raw.get("eos_token_id"))
    generation = directory / "generation_config.json"
    if generation.exists():
        eos += _ids(_read_json(generation).get("eos_token_id"))
    heads = raw["num_attention_heads"]
    return LlamaShape(
        vocab=raw["vocab_size"],
        hidden=raw["hidden_size"],
        inner=raw["intermediate_size"],
        layers=raw["num_hidden_layers"],
        heads=heads,
        kv_heads=raw.get("num_key_value_heads") or heads,
        head_dim=raw.get("head_dim") or raw["hidden_size"] // heads,
        rope_theta=float(rope.get("rope_theta") or raw.get("rope_theta") or 10000.0),
        norm_eps=float(raw.get("rms_norm_eps", 1e-6)),
        max_positions=raw.get("max_position_embeddings", 2048),
        tied=bool(raw.get("tie_word_embeddings", False)),
        eos_ids=tuple(sorted(set(eos))),
    )
