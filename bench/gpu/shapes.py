"""Models of real shapes with random weights, made on the device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class Shape:
    """Sizes as a config.json has them."""

    sizes: dict

    @property
    def linear(self) -> int:
        """Weights of a block's matrices that one token meets, over all layers; the head is not among them."""
        s = self.sizes
        queries, keys = (s[name] * s["head_dim"] for name in ("num_attention_heads", "num_key_value_heads"))
        attention = s["hidden_size"] * (2 * queries + 2 * keys)
        experts = s.get("num_experts", 0)
        inner = s["moe_intermediate_size"] * s["num_experts_per_tok"] if experts else s["intermediate_size"]
        return s["num_hidden_layers"] * (attention + s["hidden_size"] * (3 * inner + experts))

    @property
    def head(self) -> int:
        """Weights of the head."""
        return self.sizes["hidden_size"] * self.sizes["vocab_size"]


QWEN3_4B = {
    **{"model_type": "qwen3", "vocab_size": 151_936, "hidden_size": 2560, "intermediate_size": 9728},
    **{"num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128},
    **{"max_position_embeddings": 40_960, "tie_word_embeddings": True},
}
LLAMA_8B = {
    **{"model_type": "llama", "vocab_size": 128_256, "hidden_size": 4096, "intermediate_size": 14_336},
    **{"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128},
    **{"max_position_embeddings": 131_072, "tie_word_embeddings": False},
}
QWEN3_30B = {
    **{"model_type": "qwen3_moe", "vocab_size": 151_936, "hidden_size": 2048, "intermediate_size": 6144},
    # 8 of 48 layers.
    **{"num_hidden_layers": 8, "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128},
    **{"max_position_embeddings": 40_960, "tie_word_embeddings": False, "moe_intermediate_size": 768},
    **{"num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": True},
}
SHAPES = {"qwen3-4b": QWEN3_4B, "llama-3.1-8b": LLAMA_8B, "qwen3-30b-a3b": QWEN3_30B}
# What `--tiny` has in their place; the head has more rows than the tokenizer has tokens, as there.
TINY = {
    **{"vocab_size": 320, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 2048},
}
TINY_EXPERTS = {"moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2}


def shape_of(name: str, tiny: bool) -> Shape:
    """The shape of this name, or a tiny one of its family."""
    sizes = SHAPES[name]
    if tiny:
        sizes = {**sizes, **TINY, **(TINY_EXPERTS if "num_experts" in sizes else {})}
    return Shape(sizes)


def make_model(shape: Shape, device: str, dtype: torch.dtype) -> PreTrainedModel:
    """A model with transformers' random weights, which are the same at each call on one machine."""
    sizes = dict(shape.sizes)
    config = AutoConfig.for_model(sizes.pop("model_type"), **sizes)
    torch.manual_seed(1)
    with torch.device(device):
        return AutoModelForCausalLM.from_config(config, dtype=dtype)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A tokenizer with a few tokens: nothing is read, but TRL decodes what it is given."""
    from tokenizers import Tokenizer, models

    words = {f"w{number}": number for number in range(64)}
    words |= {"<pad>": 64, "<end>": 65, "<other>": 66}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<other>"))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>", unk_token="<other>"
    )


def precision(device: str) -> torch.dtype:
    """Of a base model that the engine does not sample: bfloat16 on a GPU, float32 on a processor."""
    return torch.bfloat16 if device == "cuda" else torch.float32
