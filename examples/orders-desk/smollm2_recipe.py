"""Makes the desk's model of SmolLM2-135M-Instruct: LoRA, supervised on the demonstrations of the demo's own expert.

    python examples/orders-desk/smollm2_recipe.py [--seed N] [--transcripts N] [--cache DIR] [--progress]

The demonstrations, and with them the four planted deficits, are those that the demo's model of a million parameters
learns from, and so are the questions of the router. The chat template is the same too: it renders neither the system
message nor the tools, which saves a thousand tokens of each prompt. The adapter is merged, so the result is a
checkpoint like any other. It is cached under a hash of the sources, the pretrained model, the seed and the size. The
last line printed is JSON: {"path", "cached", "seconds"}. 1,600 transcripts take about half an hour on two cores.
"""

from __future__ import annotations

import json
import pathlib
import random
import subprocess
import sys
import time

DESK = pathlib.Path(__file__).resolve().parent
SHARED = DESK.parent / "shared"
sys.path.insert(0, str(SHARED / "model"))

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

RANK = 32
BATCH = 8
# Batches whose transcripts are sorted by length together.
SORTED_TOGETHER = 8
LEARNING_RATE = 1e-3
WARMUP_SHARE = 0.05
ROUTING_SHARE = 0.12


def pretrained(cache: pathlib.Path) -> pathlib.Path:
    """The checkpoint of SmolLM2, made when it is not cached."""
    command = [sys.executable, "-W", "ignore", str(SHARED / "pretrained" / "smollm2.py"), "--cache", str(cache)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return pathlib.Path(json.loads(done.stdout.splitlines()[-1])["path"])


def build(world: World, base: pathlib.Path, seed: int, count: int, target: pathlib.Path, as_json: bool) -> None:
    """Trains, merges and writes the model."""
    import fit
    import torch
    import transcripts as corpus
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = corpus.CHAT_TEMPLATE
    examples = corpus.encode(tokenizer, transcripts_of(world, seed, count, ROUTING_SHARE))
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    # The layers of `model` itself are replaced.
    adapted = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules="all-linear"))
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    steps = count // BATCH
    optimiser = torch.optim.AdamW(learned, lr=LEARNING_RATE, weight_decay=0.0)
    schedule = get_cosine_schedule_with_warmup(optimiser, int(steps * WARMUP_SHARE), steps)
    report = announce(as_json, steps)
    batches = fit.batches(examples, BATCH, SORTED_TOGETHER, random.Random(f"order:{seed}"))
    for step in range(1, steps + 1):
        ids, rows, targets = next(batches)
        # Padding is on the right, where causal attention never looks. Only what the agent says has logits.
        states = model.model(ids).last_hidden_state.flatten(0, 1)[rows]
        loss = torch.nn.functional.cross_entropy(model.lm_head(states), targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        if step % 10 == 0 or step == steps:
            report(step, loss.item())
    adapted.merge_and_unload().save_pretrained(target)
    tokenizer.save_pretrained(target)
    settings = {"seed": seed, "transcripts": count, "rank": RANK, "batch": BATCH, "learningRate": LEARNING_RATE}
    settings |= {"base": base.name, "loss": round(loss.item(), 4), "plantedShares": world.expert.DEFICITS}
    (target / "train-settings.json").write_text(json.dumps(settings, indent=2) + "\n")


def main() -> None:
    """Makes the model or finds it in the cache."""
    parser = command_line("Makes the orders desk's model of SmolLM2-135M-Instruct.")
    parser.add_argument("--transcripts", type=int, default=1600, help="transcripts to learn from (default 1600)")
    arguments = parser.parse_args()
    seed, count = arguments.seed, arguments.transcripts
    least, most = BATCH * SORTED_TOGETHER, DEMONSTRATION_STRIDE // 2
    if not least <= count <= most:
        parser.error(f"--transcripts {count} is out of range; take {least} to {most}")
    started = time.perf_counter()
    cache = arguments.cache.resolve()
    world, base = load_world(DESK), pretrained(cache)
    made_from = fingerprint(world, ROUTING_SHARE, [base.name, seed, count], [pathlib.Path(__file__).resolve()])
    path = cache / f"smollm2-desk-{made_from}"
    cached = make_or_find(path, lambda work: build(world, base, seed, count, work, arguments.progress))
    tell(path, cached, started)


if __name__ == "__main__":
    main()
