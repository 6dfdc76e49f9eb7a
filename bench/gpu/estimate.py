"""The estimate of a trainer's memory that `whet run --dry-run` prints, where there is no Node.

The formula of contracts/trainer-memory.ts; a test holds both equal. As a program it reads a JSON list of
{"config", "options", "gpu"} and prints the list of estimates.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

# Tokens of a prompt, and of the engine's longest sequence.
PROMPT_TOKENS = ENGINE_TOKENS = 1024


def estimate(config: Mapping, options: Mapping, gpu: bool) -> dict[str, int]:
    """Bytes of weights, adapter, activations, cache, and total.

    `config` is a config.json, `options` are `sampler`, `rank`, `groups`, `rolloutsPerGroup`, `maxTurns`,
    `maxCompletionTokens`, `updateTokens` and `gradientCheckpointing`.
    """
    config = config.get("text_config") or config
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    heads = config["num_attention_heads"]
    head = config.get("head_dim") or hidden / heads
    queries, keys = heads * head, (config.get("num_key_value_heads") or heads) * head
    experts = config.get("num_experts") or config.get("num_local_experts") or 1
    inner = config["intermediate_size"]
    if experts > 1:
        inner = config.get("moe_intermediate_size") or inner
    embeddings = config["vocab_size"] * hidden * (1 if config.get("tie_word_embeddings") else 2)
    parameters = embeddings + layers * (hidden * (2 * queries + 2 * keys) + 3 * hidden * inner * experts)

    engine = options["sampler"] == "engine"
    width = 2 if gpu and not engine else 4
    weights = parameters * (8 if engine else width)
    sides = 2 * (hidden + queries) + 2 * (hidden + keys) + (0 if experts > 1 else 3 * (hidden + inner))
    adapter = options["rank"] * sides * layers * 16
    longest = options["maxTurns"] * options["maxCompletionTokens"] + PROMPT_TOKENS
    length = min(ENGINE_TOKENS if engine else config.get("max_position_embeddings", 2048), longest)
    rollouts = options["groups"] * options["rolloutsPerGroup"]
    tokens = rollouts * length
    if options["updateTokens"] > 0:
        tokens = min(options["updateTokens"], tokens)
    block = 8 * hidden + 2 * (queries + keys) + 4 * inner
    kept = layers * hidden + block if options["gradientCheckpointing"] else layers * block
    activations = tokens * kept * width
    cache = rollouts * length * layers * keys * 2 * 4 if engine else 0
    total = weights + adapter + activations + cache
    found = {"weights": weights, "adapter": adapter, "activations": activations, "cache": cache, "total": total}
    return {name: int(value) for name, value in found.items()}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    print(json.dumps([estimate(one["config"], one["options"], one["gpu"]) for one in asked]))
