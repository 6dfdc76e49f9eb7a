"""The policy server, with a record of its own of everything that it samples: `recording_server.py RECORD [flags]`.

The record does not use what answers are made of. The prompt is what the cache holds before the first token is sampled;
each token is what the sampler returns; each log-probability is computed again from the logits.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from whetstone.engine.engine import Engine
from whetstone.serve.__main__ import main


def record(path: Path) -> None:
    """From now on, each request that ends is a line of the file: `{"prompt": ids, "tokens": ids, "logprobs": list}`."""
    sample = Engine._sample
    under_way: dict[int, dict] = {}

    def recording(engine: Engine, requests: list, logits: torch.Tensor) -> list:
        logprobs = torch.log_softmax(logits, -1)
        for request in requests:
            under_way.setdefault(id(request), {"prompt": list(request._slot.ids), "tokens": [], "logprobs": []})
        ended = sample(engine, requests, logits)
        for row, (request, token) in enumerate(zip(requests, engine._picked.tolist(), strict=True)):
            line = under_way[id(request)]
            line["tokens"].append(token)
            line["logprobs"].append(logprobs[row, token].item())
        with path.open("a") as file:
            file.writelines(json.dumps(under_way.pop(id(request))) + "\n" for request in ended)
        return ended

    Engine._sample = recording


if __name__ == "__main__":
    record(Path(sys.argv[1]))
    main(sys.argv[2:])
