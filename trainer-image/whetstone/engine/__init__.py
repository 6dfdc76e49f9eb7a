"""Inference engine for Llama-architecture checkpoints: continuous batching, LoRA adapters, reproducible sampling."""

from .adapter import Adapter, live_adapter, merge_adapters, read_adapter
from .config import LlamaShape, ModelError, read_shape
from .engine import Engine, NotFinite, Request, derive_seed
from .weights import Weights

__all__ = [
    "Adapter",
    "Engine",
    "LlamaShape",
    "ModelError",
    "NotFinite",
    "Request",
    "Weights",
    "derive_seed",
    "live_adapter",
    "merge_adapters",
    "read_adapter",
    "read_shape",
]
