"""Makes a world's deployed model: a Llama of about a million parameters, trained from nothing on demonstrations.

A world's recipe.py calls `main` with its folder (examples/worlds/README.md):

    python examples/orders-desk/recipe.py [--seed N] [--size demo|tiny] [--cache DIR] [--out DIR] [--progress]

The number of steps is fixed, so the model follows from the seed (and from the machine's arithmetic), not from its
speed. The result is cached under a hash of the sources, the seed, the size and the library versions. The last line
printed is JSON: {"path", "cached", "seconds"}. Beside the weights lies train-settings.json with what was done. It is
part of the model's hash, so it does not say how long that took.
"""

import argparse
import ctypes
import hashlib
import json
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from routing_questions import deployed_summaries
from world import World, load_world, sources_of

HERE = pathlib.Path(__file__).resolve().parent
DEMONSTRATION_STRIDE = 100_000


@dataclass(frozen=True)
class Size:
    """How much is trained: transcripts are steps * batch, routing is the share of routing questions among them."""

    steps: int
    batch: int
    routing: float
    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int = 1000

    def __post_init__(self) -> None:
        if not 0 <= self.routing < 1:
            raise ValueError(f"routing={self.routing} must be at least 0 and below 1")
        if self.steps * self.batch > DEMONSTRATION_STRIDE // 2:
            raise ValueError(
                f"{self.steps} steps of {self.batch} need more seeds than the {DEMONSTRATION_STRIDE // 2} of one model"
            )


# A deployed agent was not made for our router: no routing questions, unless a world says so.
DEMO = Size(steps=1300, batch=8, routing=0.0, hidden=128, layers=4, heads=4, inner=384)
TINY = Size(steps=400, batch=8, routing=0.0, hidden=96, layers=3, heads=3, inner=256)


def use_large_blocks() -> None:
    """Keeps glibc from returning big tensors to the system at every step, which costs a fifth of the time on a CPU."""
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return
    map_threshold, trim_threshold = -3, -1
    libc.mallopt(map_threshold, 1 << 30)
    libc.mallopt(trim_threshold, (1 << 31) - 1)


def fingerprint(world: World, routing: float, settings: list, more: list[pathlib.Path] | None = None) -> str:
    """16 hex digits over everything that a world's model depends on. Other files of the world's folder do not matter.

    Args:
        routing: share of routing questions; above 0 the analyst's summaries count, too.
        settings: what else the model depends on, as JSON can write it.
        more: further sources.
    """
    import tokenizers
    import torch
    import transformers

    sources = [*(more or []), *sorted(HERE.glob("*.py")), *sources_of(world)]
    digest = hashlib.sha256()
    for file in [*sources, world.folder / "analyst" / "capabilities.json"] if routing > 0 else sources:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    versions = [torch.__version__, transformers.__version__, tokenizers.__version__]
    digest.update(json.dumps([*settings, versions], sort_keys=True).encode())
    return digest.hexdigest()[:16]


def transcripts_of(world: World, seed: int, count: int, routing: float) -> list:
    """The transcripts that a model of this seed learns from: demonstrations, then the share of routing questions."""
    import transcripts as corpus

    first = world.environment.DEMONSTRATIONS_FROM + seed * DEMONSTRATION_STRIDE
    questions = int(count * routing)
    transcripts = [corpus.demonstration(world, first + i) for i in range(count - questions)]
    if questions > 0:
        summaries = deployed_summaries(world.folder, world.expert.DECOYS)
        half = first + DEMONSTRATION_STRIDE // 2
        transcripts += [corpus.routing(world, half + i, summaries) for i in range(questions)]
    return transcripts


def build(world: World, size: Size, seed: int, target: pathlib.Path, report) -> None:
    """Trains the model of a seed and writes it with tokenizer and train-settings.json into the directory `target`."""
    import fit
    import torch
    import transcripts as corpus
    import transformers

    first = world.environment.DEMONSTRATIONS_FROM + seed * DEMONSTRATION_STRIDE
    transcripts = transcripts_of(world, seed, size.steps * size.batch, size.routing)
    sample = transcripts[:1500] + transcripts[-400:]
    tokenizer = corpus.build_tokenizer(["".join(text for text, _ in one) for one in sample], size.vocabulary)
    examples = corpus.encode(tokenizer, transcripts)

    torch.manual_seed(seed)
    model = fit.Llama(fit.Shape(size.hidden, size.layers, size.heads, size.inner), len(tokenizer))
    schedule = fit.Schedule(steps=size.steps, batch=size.batch)
    result = fit.train(model, examples, schedule, seed, report)
    transformers.utils.logging.disable_progress_bar()
    model.export(tokenizer.pad_token_id, tokenizer.eos_token_id).save_pretrained(target)
    tokenizer.save_pretrained(target)
    settings = {
        "seed": seed,
        "size": asdict(size),
        "schedule": asdict(schedule),
        "parameters": sum(p.numel() for p in model.parameters()),
        "transcripts": len(transcripts),
        "tokens": result["tokens"],
        "loss": round(result["loss"], 4),
        "threads": torch.get_num_threads(),
        "demonstrationSeeds": [first, first + DEMONSTRATION_STRIDE - 1],
        "plantedShares": world.expert.DEFICITS,
        **getattr(world.expert, "MORE_SETTINGS", {}),
    }
    (target / "train-settings.json").write_text(json.dumps(settings, indent=2) + "\n")


def announce(as_json: bool, steps: int):
    """A progress callback of step and loss (nats a token): each call prints a sentence or a JSON line.

    Steps that another process did are its third argument.
    """
    started = time.perf_counter()

    def report(step: int, loss: float, done_before: int = 0) -> None:
        seconds = time.perf_counter() - started
        left = seconds / (step - done_before) * (steps - step)
        if as_json:
            print(
                json.dumps({"step": step, "steps": steps, "loss": round(loss, 4), "secondsLeft": round(left, 1)}),
                flush=True,
            )
        else:
            print(f"training the model: step {step} of {steps}, loss {loss:.3f}, {left:.0f} s left", flush=True)

    return report


def command_line(description: str) -> argparse.ArgumentParser:
    """The options of every recipe: `--seed`, `--cache`, `--progress`."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "whetstone" / "models"
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=_seed, default=1, help="seed of the model, 0 to 999 (default 1)")
    parser.add_argument("--cache", type=pathlib.Path, default=cache, help=f"default {cache}")
    parser.add_argument("--progress", action="store_true", help="progress as JSON lines instead of sentences")
    return parser


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 1000:
        raise argparse.ArgumentTypeError(f"{text} is out of range; take 0 to 999")
    return int(text)


def make_or_find(path: pathlib.Path, build: Callable[[pathlib.Path], None]) -> bool:
    """True when the model is at `path` already; otherwise `build` writes it into a folder that then gets this path."""
    if path.is_dir():
        return True
    use_large_blocks()
    path.parent.mkdir(parents=True, exist_ok=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix=".making-", dir=path.parent))
    try:
        build(work)
        # Both are made for their owner alone; trainers may be other users.
        work.chmod(0o755)
        for file in work.iterdir():
            file.chmod(0o644)
        try:
            work.rename(path)
        except OSError:
            # Another process was faster; both made the same model.
            if not path.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return False


def tell(path: pathlib.Path, cached: bool, started: float) -> None:
    """Prints the last line of a recipe. `started` is the perf_counter value at its beginning, in seconds."""
    seconds = round(time.perf_counter() - started, 1)
    print(json.dumps({"path": str(path), "cached": cached, "seconds": seconds}), flush=True)


def main(folder: pathlib.Path, demo: Size = DEMO, tiny: Size = TINY, argv: list[str] | None = None) -> int:
    """Makes the model of the world in a folder or finds it in the cache; prints its path as JSON on the last line.

    Args:
        folder: absolute path of the world.
        demo, tiny: what `--size demo` and `--size tiny` train.
        argv: the command line; the process's own by default.
    """
    sizes = {"demo": demo, "tiny": tiny}
    parser = command_line(f"Makes the model of {folder.name}.")
    parser.add_argument("--size", choices=sorted(sizes), default="demo", help="demo (default), or tiny for tests")
    parser.add_argument(
        "--out", type=pathlib.Path, help="also copies the model into this directory, which must not exist"
    )
    arguments = parser.parse_args(argv)
    if arguments.out is not None and arguments.out.exists():
        parser.error(f"--out {arguments.out} exists already; name a new directory")

    # Threads that spin long while they wait for each other slow each other down as soon as another program wants a
    # core; threads that do not spin at all are slow on a quiet machine.
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    started = time.perf_counter()
    size = sizes[arguments.size]
    world = load_world(folder)
    seed, as_json = arguments.seed, arguments.progress
    path = arguments.cache.resolve() / fingerprint(world, size.routing, [seed, asdict(size)])
    cached = make_or_find(path, lambda work: build(world, size, seed, work, announce(as_json, size.steps)))
    if arguments.out is not None:
        shutil.copytree(path, arguments.out)
    tell(path, cached, started)
    return 0
