"""Times GRPO of one adapter, generation and updates, with this project's trainer and with a plain TRL loop.

    make bench NAME=train

The plain loop is bench/train/plain_trl.py. Both train on the same model, environment, task seeds and hyperparameters,
in processes of their own, one after the other: ours, plain, ours again. Ours is the mean of its two runs. Imports and
loading are excluded on both sides. By default the model is the demo's (trained first if it is not cached), and the
environment is one of the demo analyst's.
The last line is JSON: {"name", "seconds640", "plainSeconds640", "ratio"}.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from recorded import source_of

ROOT = pathlib.Path(__file__).resolve().parents[1]
DESK = ROOT / "examples" / "orders-desk"
ROLLOUTS = 640


def demo_model() -> str:
    """Path of the demo's model, made by its recipe when it is not cached."""
    command = [sys.executable, str(DESK / "recipe.py"), "--size", "demo"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])["path"]


def make_job(arguments: argparse.Namespace, directory: pathlib.Path) -> dict:
    """The default algorithm: 40 iterations of 4 groups of 4 rollouts, on a plain copy of the environment."""
    environment = directory / arguments.environment.name
    environment.write_text(source_of(arguments.environment))
    digest = hashlib.sha256(environment.read_bytes()).hexdigest()
    return {
        "jobId": "bench",
        "seed": 1,
        "baseModel": str(pathlib.Path(arguments.model or demo_model()).resolve()),
        "environments": [{"id": environment.stem, "path": str(environment), "sha256": digest}],
        "taskSeedStart": 5_000_000,
        "outputDir": str(directory / "out"),
        "isolation": arguments.isolation,
        "jailProfile": str(ROOT / "sandbox" / "profile.json"),
        "threads": arguments.threads,
        "checkpointEvery": 10,
        "algorithm": {
            "rank": 32,
            "alpha": 64,
            "groups": 4,
            "rolloutsPerGroup": 4,
            "iterations": arguments.iterations,
            "learningRate": 1e-3,
            "clip": 0.2,
            "klBeta": 0.01,
            "temperature": 1.0,
            "maxTurns": 12,
            "maxCompletionTokens": 64,
            "warmupIterations": 2,
            "maxGradNorm": 1.0,
            "dropConstantGroups": True,
        },
    }


def tail(values: list[float]) -> float:
    """Mean of the last quarter of a learning curve."""
    last = values[-max(1, len(values) // 4) :]
    return sum(last) / len(last)


def run_ours(job: dict, directory: pathlib.Path, number: int) -> tuple[float, list[float], dict]:
    """Seconds of training, rewards by iteration, and the manifest's seconds."""
    job = {**job, "outputDir": str(directory / f"ours-{number}")}
    path = directory / f"ours-{number}.json"
    path.write_text(json.dumps(job))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "trainer-image"), "PYTHONWARNINGS": "ignore"}
    subprocess.run([sys.executable, "-m", "whetstone.train", "--job", str(path)], env=environment, check=True)
    manifest = json.loads((directory / f"ours-{number}" / "manifest.json").read_text())
    seconds = manifest["seconds"]
    return seconds["total"] - seconds["startup"], [point["reward"] for point in manifest["curve"]], seconds


def run_plain(job: dict, directory: pathlib.Path) -> tuple[float, list[float]]:
    """Seconds of training and rewards by iteration."""
    path = directory / "plain.json"
    path.write_text(json.dumps(job))
    command = [
        sys.executable,
        "-W",
        "ignore",
        str(ROOT / "bench" / "train" / "plain_trl.py"),
        str(path),
        str(directory / "plain"),
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["seconds"], answer["rewards"]


def make_parser(description: str, model: str) -> argparse.ArgumentParser:
    """What a comparison with the plain loop is asked for besides its iterations. `model` names the default one."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help=f"model directory (default: {model})")
    parser.add_argument(
        "--environment", type=pathlib.Path, default=DESK / "analyst" / "environments" / "status-before-cancel.py"
    )
    parser.add_argument("--isolation", choices=["jail", "process"], default="jail", help="of our environment process")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="on both sides (default: all cores)")
    return parser


def check_arguments(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Ends the measurement with a sentence when an argument is wrong."""
    for name in ("threads", "iterations"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name}: {getattr(arguments, name)}; a whole number above 0")
    try:
        source_of(arguments.environment)
    except RuntimeError as error:
        parser.error(f"--environment: {error}")
    if arguments.model and not (pathlib.Path(arguments.model) / "config.json").is_file():
        parser.error(f"--model: {arguments.model} is no model directory: it has no config.json")


def main() -> None:
    """Runs the comparison and prints it."""
    parser = make_parser(__doc__, "the demo's")
    parser.add_argument("--iterations", type=int, default=ROLLOUTS // 16, help="of 16 rollouts (default 40)")
    arguments = parser.parse_args()
    check_arguments(parser, arguments)
    scale = ROLLOUTS / (16 * arguments.iterations)
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        job = make_job(arguments, directory)
        first, rewards, parts = run_ours(job, directory, 1)
        print(f"ours: {first:.1f} s (generation {parts['generation']:.1f}, update {parts['update']:.1f})", flush=True)
        plain, plain_rewards = run_plain(job, directory)
        print(f"plain TRL loop: {plain:.1f} s", flush=True)
        second, _, parts = run_ours(job, directory, 2)
        print(f"ours: {second:.1f} s (generation {parts['generation']:.1f}, update {parts['update']:.1f})", flush=True)
    ours = (first + second) / 2
    print(f"reward, first iteration and last quarter: ours {rewards[0]:.2f} {tail(rewards):.2f},", end=" ")
    print(f"plain {plain_rewards[0]:.2f} {tail(plain_rewards):.2f}")
    figures = {"seconds640": round(ours * scale, 2), "plainSeconds640": round(plain * scale, 2)}
    print(json.dumps({"name": "train", **figures, "ratio": round(plain / ours, 2)}))


if __name__ == "__main__":
    main()
