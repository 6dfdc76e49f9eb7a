"""Measures the trainer on one GPU: its check, its update beside TRL's and float64, several adapters, the demo.

    python3 bench/gpu.py --wheels DIR --out FILE      # on a card: any python3 with torch, transformers and peft
    python3 bench/gpu.py --device cpu --tiny          # everything in small on a processor, to see that it runs
    make bench NAME=gpu                               # with the toolchain's Python

It takes at most --minutes, and needs no network, no weights, no Node and no jail: models are random, made on the card;
the demo's is trained by its recipe, and its environment runs as a plain process, in this measurement alone. The wheels
of DIR are put into a temporary folder. DIR is made where there is a network, for the Python and the machine of the card
(2.9 MB):

    pip download --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \\
      --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 -d DIR \\
      trl==1.16.0 datasets==5.2.0 accelerate==1.15.0 dill==0.4.1 multiprocess==0.70.19 xxhash==4.1.0 \\
      httpx2==2.16.2 httpcore2==2.16.2 truststore==0.10.5

Those need what most images have beside torch: pandas and pyarrow (67 MB as wheels), jinja2, anyio, h11, idna. Where one
is missing, add it to the line.

Versions are printed first. Each part is a process of its own with a time limit, and prints each of its lines at once;
FILE is written again after each line. What cannot be tried is 'not run', with the reason, and the others go on. Parts:

- devices: the trainer's own check of the GPU, and the card's rate of bfloat16 matrix products, for the shares below;
- exact: loss and gradient of one step on a small shape against float64;
- update-4b, update-8b, update-30b: the update, with rows of 4,096 and 16,384 tokens, and plain TRL's on the same rows:
  seconds, tokens a second, share of the matrix rate, peak memory and what `whet run --dry-run` estimates. Shapes are
  Qwen3-4B, Llama-3.1-8B, and Qwen3-30B-A3B with 8 of its 48 layers. First in one pass, and where the memory does not
  hold it, that is said; 16,384 tokens with gradient checkpointing as well;
- adapters: four adapters on one base in one process, and one: memory and seconds;
- demo: the demo's training with the same seeds on the card and on the processor, and whether the card's rewards lie
  within the processor's interval.

The last line is JSON: {"name", "device", "tiny", "versions", "seconds", "parts": {part: {"state", "reason", "seconds",
"rows": [{"case", "state", "reason", "seconds", ...}]}}}. Memory is in bytes, rates in operations a second.
"""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "gpu"))

from measure import PARTS, measure  # noqa: E402


def has_gpu() -> bool:
    """Whether this Python's torch can use a GPU. Asked in a process of its own, which then frees the device."""
    command = [sys.executable, "-c", "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def main() -> None:
    """Reads the command line and measures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=pathlib.Path, help="folder with wheels that this Python lacks (TRL)")
    parser.add_argument("--out", type=pathlib.Path, help="JSON file to write")
    parser.add_argument("--device", choices=["cuda", "cpu"], help="default: cuda where there is one")
    parser.add_argument("--tiny", action="store_true", help="tiny shapes: shows that it runs, figures mean nothing")
    parser.add_argument("--minutes", type=float, default=8.0, help="limit for everything together (default 8)")
    parser.add_argument("--only", help=f"parts to run, with commas between them (default {','.join(PARTS)})")
    arguments = parser.parse_args()
    parts = arguments.only.split(",") if arguments.only else list(PARTS)
    if unknown := [name for name in parts if name not in PARTS]:
        parser.error(f"--only: there is no part {unknown[0]}; the parts are {', '.join(PARTS)}")
    if arguments.wheels and not list(arguments.wheels.glob("*.whl")):
        parser.error(f"--wheels: {arguments.wheels} holds no wheels; --help says how to get them")
    if arguments.minutes <= 0:
        parser.error(f"--minutes: {arguments.minutes:g}; a number above 0")
    if arguments.device == "cpu" and not arguments.tiny:
        parser.error("--device cpu: the real shapes are for a card; add --tiny")
    device, tiny = arguments.device, arguments.tiny
    if device is None:
        device = "cuda" if has_gpu() else "cpu"
        if device == "cpu" and not tiny:
            print("There is no GPU here: tiny shapes run on the processor, and no figure means anything.", flush=True)
            tiny = True
    if device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    measure(parts, device, tiny, arguments.minutes * 60, arguments.wheels, arguments.out)


if __name__ == "__main__":
    main()
