"""Times GRPO of one adapter whose rollouts vLLM samples, beside a plain TRL loop that samples with transformers.

    make bench NAME=train-vllm

Both sides train SmolLM2-135M-Instruct in float32 on processors, on the same job: the same environment of the demo's
analyst with its tools in the prompt, task seeds, hyperparameters and number of rollouts, in processes of their own, one
after the other. Ours is `python -m whetstone.train` with `sampler: managed`, so that it starts its own vLLM. The plain
loop is bench/train/plain_trl.py. In its update four rollouts pass through the model together: sixteen would need more
than 20 GB for their activations (estimated, not measured).

A figure is the tokens that the agent sampled in the rollouts, all of which the update learns from, divided by the wall
seconds of whole iterations: publishing the adapter, sampling, environment, reference and old log-probabilities, loss,
backward pass and optimiser. Tokens of prompts and of tool results are not counted, on either side. The first iteration
of each side is a warm-up and left out; on our side it also asks the sampler whether it computes what the trainer does.
Imports, loading and vLLM's start are left out too; ours are printed apart. The model calls no tools yet, so that most
rollouts are one turn and all rewards may be alike. No group is dropped for that, on either side.

vLLM is installed into .toolchain/vllm the first time (6 GB). The model is made from a package the first time.
The last line is JSON: {"name", "tokensPerSecond", "plainTokensPerSecond", "ratio"}.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from train import check_arguments, make_job, make_parser

ROOT = pathlib.Path(__file__).resolve().parents[1]
WARM_UP = 1
PLAIN_ROLLOUTS_A_PASS = 4
# Prompt and completion of the longest rollout.
MODEL_LENGTH = 4096


def smollm2() -> str:
    """Path of the checkpoint, made when it is not cached."""
    command = [sys.executable, "-W", "ignore", str(ROOT / "examples" / "shared" / "pretrained" / "smollm2.py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit("train-vllm: SmolLM2 could not be made from its package; the reason stands above")
    return json.loads(done.stdout.splitlines()[-1])["path"]


def write_job(arguments: argparse.Namespace, directory: pathlib.Path) -> pathlib.Path:
    """The job of both sides: bench/train.py's, with vLLM as sampler and without what changes an iteration's size."""
    arguments.iterations += WARM_UP
    job = make_job(arguments, directory)
    job |= {"sampler": "managed", "maxModelLength": MODEL_LENGTH, "checkpointEvery": 1000}
    job["algorithm"] |= {"learningRate": 1e-4, "dropConstantGroups": False, "rewardCollapse": 0, "reportTo": "none"}
    path = directory / "job.json"
    path.write_text(json.dumps(job))
    return path


def run_ours(job: pathlib.Path, directory: pathlib.Path) -> tuple[list[float], list[int]]:
    """Seconds and sampled tokens of each iteration."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "trainer-image"), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-m", "whetstone.train", "--job", str(job)], env=environment)
    output = directory / "out"
    if done.returncode:
        log = output / "sampler.log"
        said = log.read_text(errors="replace")[-2000:] if log.exists() else ""
        raise SystemExit(f"{said}\ntrain-vllm: our trainer ended with code {done.returncode}; its reason stands above")
    lines = [json.loads(line) for line in (output / "progress.jsonl").read_text().splitlines()]
    startup = json.loads((output / "manifest.json").read_text())["seconds"]["startup"]
    print(f"ours: {startup:.1f} s to start, most of it vLLM's start", flush=True)
    ends = [0.0, *(line["secondsElapsed"] for line in lines)]
    for line, begin, end in zip(lines, ends, ends[1:], strict=False):
        print(
            f"ours: iteration {line['iteration']}: {end - begin:.1f} s (generation {line['secondsGeneration']:.1f},"
            f" update {line['secondsUpdate']:.1f}), {line['completionTokens']} tokens, gradient {line['gradNorm']:.3g},"
            f" sampler {line['samplerMismatch']['mean']:.1e} nats apart",
            flush=True,
        )
    return [end - begin for begin, end in zip(ends, ends[1:], strict=False)], [one["completionTokens"] for one in lines]


def run_plain(job: pathlib.Path, directory: pathlib.Path) -> tuple[list[float], list[int]]:
    """Seconds and sampled tokens of each iteration."""
    script, output = ROOT / "bench" / "train" / "plain_trl.py", directory / "plain"
    command = [sys.executable, "-W", "ignore", str(script), str(job), str(output), str(PLAIN_ROLLOUTS_A_PASS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"train-vllm: the plain loop ended with code {done.returncode}; its reason stands above")
    answer = json.loads(done.stdout.splitlines()[-1])
    seconds, tokens = answer["iterationSeconds"], answer["sampledTokens"]
    for number, (took, count) in enumerate(zip(seconds, tokens, strict=True), 1):
        print(f"plain TRL loop: iteration {number}: {took:.1f} s, {count} tokens", flush=True)
    return seconds, tokens


def rate(seconds: list[float], tokens: list[int]) -> float:
    """Tokens a second of the iterations after the warm-up."""
    return sum(tokens[WARM_UP:]) / sum(seconds[WARM_UP:])


def main() -> None:
    """Runs the comparison and prints it."""
    parser = make_parser(__doc__, "SmolLM2-135M-Instruct")
    parser.add_argument(
        "--iterations", type=int, default=2, help="of 16 rollouts that are timed, after one that is not (default 2)"
    )
    arguments = parser.parse_args()
    check_arguments(parser, arguments)
    if subprocess.run([ROOT / "scripts" / "vllm.sh"]).returncode:
        raise SystemExit("train-vllm: there is no vLLM; the reason stands above")
    arguments.model = arguments.model or smollm2()
    with tempfile.TemporaryDirectory(prefix="whet-train-vllm-") as name:
        directory = pathlib.Path(name)
        job = write_job(arguments, directory)
        ours = rate(*run_ours(job, directory))
        plain = rate(*run_plain(job, directory))
    figures = {"tokensPerSecond": round(ours, 2), "plainTokensPerSecond": round(plain, 2)}
    print(json.dumps({"name": "train-vllm", **figures, "ratio": round(ours / plain, 2)}))


if __name__ == "__main__":
    main()
