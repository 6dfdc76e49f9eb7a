"""Part 'demo': the demo's training on the device and on the processor, with the same seeds, as `whet` starts it.

The environment runs as a plain process, not in the jail: on a card's machine there may be none, and this environment
was written with the project. The model is made by its recipe. Learning curves differ from seed to seed, so the device's
mean is compared with the interval in which it lies if it draws from the same distribution.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from child import NotRun

ROOT = pathlib.Path(__file__).resolve().parents[2]
DESK = ROOT / "examples" / "orders-desk"
# The one that is kept as it is: the others are patches of it, which Node applies.
ENVIRONMENT = DESK / "analyst" / "environments" / "credit-every-item.py"
SEEDS, WINDOWS = 5, 4
ITERATIONS = 40
# Student's t at 99.75 % for 1, 2, ... degrees of freedom: of four windows all lie within with 98 %.
QUANTILES = (127.32, 14.089, 7.453, 5.598, 4.773)


def cases(settings: dict) -> list:
    """The model first: what it takes is no part of the training."""
    return [("model", lambda: {"made": not model(settings["tiny"])["cached"]}), ("training", lambda: train(settings))]


@functools.cache
def model(tiny: bool) -> dict:
    """Path of the demo's model, made by its recipe on the processor when it is not cached."""
    command = [sys.executable, str(DESK / "recipe.py"), "--size", "tiny" if tiny else "demo"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise NotRun(f"the recipe of the demo's model ended with {done.returncode}: {last_words(done.stderr)}")
    return json.loads(done.stdout.splitlines()[-1])


def last_words(text: str) -> str:
    """The last line that is not empty."""
    return next((line.strip()[:300] for line in reversed(text.splitlines()) if line.strip()), "no words")


def train(settings: dict) -> dict:
    """All trainings side by side; curves in four windows, and whether the device's lie in the processor's interval."""
    tiny, device = settings["tiny"], settings["device"]
    path, scratch = model(tiny)["path"], pathlib.Path(settings["scratch"]) / "demo"
    seeds = range(1, (2 if tiny else SEEDS) + 1)
    # Where the device is the processor, one training of each seed serves for both sides.
    tasks = list(dict.fromkeys((where, seed) for where in ("cpu", device) for seed in seeds))
    cores = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(max(1, min(len(tasks), cores))) as pool:
        runs = list(pool.map(lambda task: run(*task, path, scratch, settings), tasks))
    by: dict[str, list[dict]] = {"cpu": [], device: []}
    failed = []
    for (where, seed), one in zip(tasks, runs, strict=True):
        if "failed" in one:
            failed.append(f"{where} seed {seed}: {one['failed']}")
        else:
            by[where].append(one)
    if min(len(by["cpu"]), len(by[device])) < 2:
        raise NotRun(f"fewer than two trainings of a side came to their end: {'; '.join(failed)}")
    windows = compare([one["curve"] for one in by["cpu"]], [one["curve"] for one in by[device]])
    return {
        "iterations": len(by["cpu"][0]["curve"]),
        "trainings": {"processor": len(by["cpu"]), "device": len(by[device])},
        "failed": failed,
        "secondsEach": {
            "processor": round(statistics.mean(one["seconds"] for one in by["cpu"]), 1),
            "device": round(statistics.mean(one["seconds"] for one in by[device]), 1),
        },
        "windows": windows,
        "within": all(one["within"] for one in windows),
    }


def run(where: str, seed: int, model_path: str, scratch: pathlib.Path, settings: dict) -> dict:
    """Curve and seconds of one training, with the start of its process, or why it has none."""
    # Those that are done count, also when others are not in time.
    left = settings["deadline"] - time.time() - 5
    folder = scratch / f"{where}-{seed}"
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(json.dumps(make_job(seed, model_path, folder / "out", settings["tiny"])))
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""} if where == "cpu" else dict(os.environ)
    command = [sys.executable, "-m", "whetstone.train", "--job", str(folder / "job.json")]
    started = time.perf_counter()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    try:
        done = subprocess.run(command, env=environment, timeout=max(1.0, left), **quiet)
    except subprocess.TimeoutExpired:
        return {"failed": f"time: more than {left:.0f} s"}
    if done.returncode:
        return {"failed": f"exit code {done.returncode}: {last_words(done.stderr)}"}
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    return {"curve": [point["reward"] for point in manifest["curve"]], "seconds": time.perf_counter() - started}


def make_job(seed: int, model_path: str, output: pathlib.Path, tiny: bool) -> dict:
    """The demo's job (examples/orders-desk/agent.yaml), without the jail."""
    iterations = WINDOWS if tiny else ITERATIONS
    digest = hashlib.sha256(ENVIRONMENT.read_bytes()).hexdigest()
    return {
        "jobId": f"gpu-{seed}",
        "seed": seed,
        "baseModel": model_path,
        "environments": [{"id": ENVIRONMENT.stem, "path": str(ENVIRONMENT), "sha256": digest}],
        "taskSeedStart": 5_000_000 + 1000 * seed,
        "outputDir": str(output),
        "isolation": "process",
        "jailProfile": "",
        "threads": 1,
        "checkpointEvery": iterations,
        "algorithm": {
            **{"rank": 32, "alpha": 64, "groups": 4, "rolloutsPerGroup": 2 if tiny else 4, "iterations": iterations},
            **{"learningRate": 1e-3, "klBeta": 0.01, "maxTurns": 3 if tiny else 12},
            **{"maxCompletionTokens": 64, "reportTo": "none"},
        },
    }


def compare(processor: list[list[float]], device: list[list[float]]) -> list[dict]:
    """For each quarter of the iterations both mean rewards, and half the width of the interval around the processor's.

    The interval is that of the difference of two means, with the spread of the processor's seeds.
    """
    count, found = len(processor[0]), []
    spread = QUANTILES[min(len(processor) - 1, len(QUANTILES)) - 1]
    for number in range(WINDOWS):
        part = slice(number * count // WINDOWS, (number + 1) * count // WINDOWS)
        own, other = ([statistics.mean(curve[part]) for curve in side] for side in (processor, device))
        half = spread * statistics.stdev(own) * math.sqrt(1 / len(own) + 1 / len(other))
        means = statistics.mean(own), statistics.mean(other)
        row = {"iterations": f"{part.start + 1} to {part.stop}", "processor": means[0], "device": means[1]}
        row |= {"halfWidth": half, "within": abs(means[0] - means[1]) <= half}
        found.append({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})
    return found
