"""Times the training of four adapters over one base model, in one packed trainer and in four trainers.

    make bench NAME=packing

It compares three arms with the same four job files: four processes one after another, four cold processes side by
side, and one process with all four jobs. Wall time is from the start of the first process to the last manifest. The
model is the demo's (trained first if it is not cached). The environments are the demo analyst's, jailed. All arms must
produce the same four adapters, byte for byte; otherwise the run fails and says which differ.

With `--sampler managed` the rollouts come from vLLM: every process starts a server, so the packed arm has one and the
side-by-side arm, which would need the memory of four, is left out. Whatever shares a batch in vLLM changes how its
numbers round, so adapters are not compared.

The last line is JSON: {"name", "sampler", "ratio", "ratioWithoutStarts", "sideBySideRatio", "sequentialSeconds",
"sideBySideSeconds", "packedSeconds", "startSeconds", "cpuSeconds", "adapters", "iterations", "bytecode"}. `ratio` is
sequential / packed, `startSeconds` what the manifests call startup: of all trainers in sequence, of the packed one
once. `bytecode` says whether the libraries' modules are compiled on disk, because without that a start takes at least
twice as long.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from train import DESK, demo_model, make_job

ROOT = pathlib.Path(__file__).resolve().parents[1]
NAMES = ["append-postal-code", "credit-every-item", "status-before-cancel", "verify-before-refund"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "trainer-image"), "PYTHONWARNINGS": "ignore"}


def write_jobs(arguments: argparse.Namespace, directory: pathlib.Path) -> list[pathlib.Path]:
    """Job files of one arm; the seeds and tasks are the same in every arm."""
    paths = []
    for number, name in enumerate(NAMES):
        folder = directory / name
        folder.mkdir(parents=True)
        arguments.environment = DESK / "analyst" / "environments" / f"{name}.py"
        job = make_job(arguments, folder)
        job |= {"jobId": name, "seed": number + 1, "sampler": arguments.sampler}
        (folder / "job.json").write_text(json.dumps(job))
        paths.append(folder / "job.json")
    return paths


def start(paths: list[pathlib.Path]) -> subprocess.Popen:
    """One trainer with these jobs."""
    jobs = [argument for path in paths for argument in ("--job", str(path))]
    return subprocess.Popen([sys.executable, "-m", "whetstone.train", *jobs], env=ENVIRONMENT)


def finish(process: subprocess.Popen) -> None:
    """Waits for a trainer to end. Exits when it has failed."""
    if process.wait() != 0:
        raise SystemExit(f"a trainer ended with code {process.returncode}")


def one_after_another(paths: list[pathlib.Path]) -> None:
    """A process each, the next when the last one has ended."""
    for path in paths:
        finish(start([path]))


def side_by_side(paths: list[pathlib.Path]) -> None:
    """A process each, all started at once."""
    for process in [start([path]) for path in paths]:
        finish(process)


def packed(paths: list[pathlib.Path]) -> None:
    """One process for all."""
    finish(start(paths))


ARMS = {"sequential": one_after_another, "sideBySide": side_by_side, "packed": packed}


def measure(arm: str, arguments: argparse.Namespace, directory: pathlib.Path) -> tuple[float, float, float, list[str]]:
    """Wall seconds, processor seconds, seconds of starts, and the adapters' hashes of one arm."""
    paths = write_jobs(arguments, directory)
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ARMS[arm](paths)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    manifests = [json.loads((path.parent / "out" / "manifest.json").read_text()) for path in paths]
    starts = [manifest["seconds"]["startup"] for manifest in manifests]
    # A member that waits for its turn begins later, when a managed server has started for the others.
    start_seconds = max(starts) if arm == "packed" else sum(starts)
    return wall, cpu, start_seconds, [manifest["adapterSha256"] for manifest in manifests]


def require_same(adapters: dict[str, list[str]]) -> None:
    """Exits when an arm has made another adapter than the first arm."""
    reference = next(iter(adapters.values()))
    differing = [
        f"{NAMES[place]} ({arm})"
        for arm, hashes in adapters.items()
        for place, value in enumerate(hashes)
        if value != reference[place]
    ]
    if differing:
        raise SystemExit(f"these adapters differ from those of the first arm: {', '.join(differing)}")
    print(f"the {len(NAMES)} adapters are the same, byte for byte, in all arms")


def main() -> None:
    """Runs the arms `--rounds` times in turn and prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="model directory (default: the demo's)")
    parser.add_argument("--isolation", choices=["jail", "process"], default="jail", help="of the environments")
    parser.add_argument("--threads", type=int, default=1, help="of each trainer, in all arms (default 1, as the demo)")
    parser.add_argument("--iterations", type=int, default=40, help="of 16 rollouts (default 40)")
    parser.add_argument(
        "--rounds", type=int, default=1, help="of all arms in turn; seconds are their means (default 1)"
    )
    parser.add_argument("--sampler", choices=["engine", "managed"], default="engine", help="managed: vLLM")
    arguments = parser.parse_args()
    by_engine = arguments.sampler == "engine"
    if not by_engine and subprocess.run([ROOT / "scripts" / "vllm.sh"]).returncode:
        raise SystemExit("packing: there is no vLLM; the reason stands above")
    arguments.model = arguments.model or demo_model()
    arms = [arm for arm in ARMS if by_engine or arm != "sideBySide"]
    seconds, processor, starts = (dict.fromkeys(arms, 0.0) for _ in range(3))
    adapters: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        for number in range(arguments.rounds):
            for arm in arms:
                wall, cpu, start_seconds, hashes = measure(arm, arguments, pathlib.Path(name) / f"{number}-{arm}")
                seconds[arm] += wall / arguments.rounds
                processor[arm] += cpu / arguments.rounds
                starts[arm] += start_seconds / arguments.rounds
                adapters[f"{arm}, round {number + 1}"] = hashes
                print(f"{arm}: {wall:.1f} s, of processors {cpu:.1f} s, of starts {start_seconds:.1f} s", flush=True)
    if by_engine:
        require_same(adapters)
    trained = {arm: seconds[arm] - starts[arm] for arm in arms}
    cached = importlib.util.cache_from_source(importlib.util.find_spec("trl").origin)
    result = {
        "name": "packing",
        "sampler": arguments.sampler,
        "ratio": round(seconds["sequential"] / seconds["packed"], 2),
        "ratioWithoutStarts": round(trained["sequential"] / trained["packed"], 2),
        "sideBySideRatio": round(seconds["sideBySide"] / seconds["packed"], 2) if by_engine else None,
        **{f"{arm}Seconds": round(value, 1) for arm, value in seconds.items()},
        "startSeconds": {arm: round(value, 1) for arm, value in starts.items()},
        "cpuSeconds": {arm: round(value, 1) for arm, value in processor.items()},
        "adapters": len(NAMES),
        "iterations": arguments.iterations,
        "bytecode": pathlib.Path(cached).exists(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
