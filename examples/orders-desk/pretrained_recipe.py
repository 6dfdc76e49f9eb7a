"""Makes the desk's model of a pretrained one: LoRA, supervised on the demonstrations of the demo's own expert.

    python examples/orders-desk/pretrained_recipe.py --model smollm2-135m|qwen2.5-coder-0.5b
        [--seed N] [--transcripts N] [--cache DIR] [--progress]

The demonstrations, and with them the four planted deficits, are those that the demo's model of a million parameters
learns from, and so are the questions of the router. The chat template is the same too: it renders neither the system
message nor the tools, which saves a thousand tokens of each prompt. The adapter is merged, so the result is a
checkpoint like any other. It is cached under a hash of the sources, the pretrained model, the seed and the size. A
recipe that was killed goes on from its last saved step. The last line printed is JSON: {"path", "cached", "seconds"}.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

DESK = pathlib.Path(__file__).resolve().parent
SHARED = DESK.parent / "shared"
sys.path[:0] = [str(SHARED / "model"), str(SHARED / "pretrained")]

from make_model import (  # noqa: E402
    DEMONSTRATION_STRIDE,
    announce,
    command_line,
    fingerprint,
    make_or_find,
    tell,
    transcripts_of,
)
from world import World, load_world  # noqa: E402

ROUTING_SHARE = 0.12
# So many are sorted by length together; with fewer there is no batch.
LEAST_TRANSCRIPTS = 64


@dataclass(frozen=True)
class Pretrained:
    """A pretrained model.

    Args:
        script: makes its checkpoint; with arguments.
        training: the fields of a warm start's plan.
        unlearned: tokens that the model never learned, and for each a learned one that no transcript has.
    """

    script: tuple[str, ...]
    training: dict
    unlearned: dict[str, str] = field(default_factory=dict)


MODELS = {
    "smollm2-135m": Pretrained(("smollm2.py",), {"batch": 8, "learning_rate": 1e-3}),
    # In float32 a step takes three times as long.
    "qwen2.5-coder-0.5b": Pretrained(
        ("qwen_coder.py", "--size", "0.5b"),
        {"batch": 4, "learning_rate": 5e-4, "dtype": "bfloat16", "rank": 16, "save_every": 5},
        # Their rows and those of 2,838 tokens that stand for nothing are all but equal (measured).
        unlearned={"<tool_call>": "<|fim_prefix|>", "</tool_call>": "<|fim_suffix|>"},
    ),
}


def checkpoint(script: tuple[str, ...], cache: pathlib.Path) -> pathlib.Path:
    """The pretrained checkpoint, made when it is not cached."""
    command = [sys.executable, "-W", "ignore", str(SHARED / "pretrained" / script[0]), *script[1:]]
    done = subprocess.run([*command, "--cache", str(cache)], stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(json.loads(done.stdout.splitlines()[-1])["path"])


def build(
    world: World, base: pathlib.Path, arguments: argparse.Namespace, state: pathlib.Path, target: pathlib.Path
) -> None:
    """Trains, merges and writes the model."""
    import transcripts as corpus
    from transformers import AutoTokenizer
    from transformers.utils.logging import disable_progress_bar
    from warm_start import Plan, warm_start

    disable_progress_bar()
    seed, count = arguments.seed, arguments.transcripts
    plan = Plan(**MODELS[arguments.model].training)
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = corpus.CHAT_TEMPLATE
    examples = corpus.encode(tokenizer, transcripts_of(world, seed, count, ROUTING_SHARE))
    number = tokenizer.convert_tokens_to_ids
    unlearned = {number(token): number(other) for token, other in MODELS[arguments.model].unlearned.items()}
    report = announce(arguments.progress, count // plan.batch)
    model, loss = warm_start(base, examples, plan, seed, state, unlearned, report)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    settings = {"seed": seed, "transcripts": count, **asdict(plan), "base": base.name, "loss": round(loss, 4)}
    settings |= {"tokens": sum(len(ids) for ids, _ in examples), "plantedShares": world.expert.DEFICITS}
    (target / "train-settings.json").write_text(json.dumps(settings, indent=2) + "\n")


def main() -> None:
    """Makes the model or finds it in the cache."""
    parser = command_line("Makes the orders desk's model of a pretrained one.")
    parser.add_argument("--model", choices=list(MODELS), required=True)
    parser.add_argument("--transcripts", type=int, default=1600, help="transcripts to learn from (default 1600)")
    arguments = parser.parse_args()
    most = DEMONSTRATION_STRIDE // 2
    if not LEAST_TRANSCRIPTS <= arguments.transcripts <= most:
        parser.error(f"--transcripts {arguments.transcripts} is out of range; take {LEAST_TRANSCRIPTS} to {most}")
    # As in make_model.py: threads that spin long are slow beside other programs.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    started = time.perf_counter()
    cache = arguments.cache.resolve()
    world, base = load_world(DESK), checkpoint(MODELS[arguments.model].script, cache)
    sources = [pathlib.Path(__file__).resolve(), SHARED / "pretrained" / "warm_start.py"]
    settings = [base.name, arguments.seed, arguments.transcripts]
    path = cache / f"{arguments.model}-desk-{fingerprint(world, ROUTING_SHARE, settings, sources)}"
    state = cache / f".{path.name}.saved"
    cached = make_or_find(path, lambda work: build(world, base, arguments, state, work))
    state.unlink(missing_ok=True)
    tell(path, cached, started)


if __name__ == "__main__":
    main()
