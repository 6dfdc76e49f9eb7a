"""The measurement from its beginning to its end: wheels, versions, parts, and the JSON that is left."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import metadata

from parts import Outcome, Part, run_part

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# In the order in which they run: what the time does not suffice for is at the end. Seconds are each one's own limit.
PARTS = {
    "devices": Part("devices", 60),
    "exact": Part("exact", 60),
    "update-4b": Part("update", 110, {"shape": "qwen3-4b"}),
    "adapters": Part("adapters", 60),
    "demo": Part("demo", 180),
    "update-8b": Part("update", 90, {"shape": "llama-3.1-8b"}),
    "update-30b": Part("update", 90, {"shape": "qwen3-30b-a3b"}),
}
PACKAGES = (
    *("torch", "transformers", "peft", "trl", "accelerate", "datasets", "tokenizers", "safetensors"),
    *("huggingface_hub", "numpy", "pandas", "pyarrow", "triton"),
)
# A part that would get less is not begun.
LEAST_SECONDS = 10


def measure(
    names: list[str],
    device: str,
    tiny: bool,
    limit: float,
    wheels: pathlib.Path | None,
    out: pathlib.Path | None,
) -> None:
    """Runs the parts of these names within `limit` seconds, prints each line, and writes the JSON to `out`."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpu-") as name:
        scratch = pathlib.Path(name)
        said = install(wheels, scratch / "wheels") if wheels else None
        report: dict = {"name": "gpu", "device": device, "tiny": tiny, "versions": versions(scratch / "wheels")}
        print("versions: " + ", ".join(f"{name} {value}" for name, value in report["versions"].items()), flush=True)
        if said:
            report["wheels"] = said
            print(f"wheels: not installed: {said}", flush=True)
        report |= {"seconds": 0.0, "parts": {}}
        environment = environment_of(scratch / "wheels", tiny)
        settings = {"device": device, "tiny": tiny, "matrixRate": None, "scratch": str(scratch)}

        def leave(part: str, outcome: Outcome) -> None:
            report["parts"][part] = outcome.as_json()
            report["seconds"] = round(time.monotonic() - started, 1)
            if out:
                # Whole at any time, also when the machine goes away.
                work = out.with_name(out.name + ".part")
                work.write_text(json.dumps(report, indent=2) + "\n")
                work.replace(out)

        for part in names:
            left = limit - (time.monotonic() - started)
            if left < LEAST_SECONDS:
                outcome = Outcome(reason=f"time: {max(0, left):.0f} s are left of {limit:.0f}")
            else:
                # Tiny shapes show that a part runs, on whatever machine: there the time of each does not matter.
                most = left if tiny else min(left, PARTS[part].seconds)
                outcome = run_part(part, PARTS[part], settings, environment, most, lambda now, p=part: leave(p, now))
            print(f"{part}: {outcome.summary()}", flush=True)
            leave(part, outcome)
            for row in outcome.rows:
                settings["matrixRate"] = row.get("matrixRate", settings["matrixRate"])
        print(json.dumps(report))


def install(wheels: pathlib.Path, target: pathlib.Path) -> str | None:
    """Puts the wheels into a folder, without what they need and without a network. Returns why it failed, if it did."""
    files = sorted(str(file) for file in wheels.glob("*.whl"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    done = subprocess.run([*command, "--target", str(target), *files], capture_output=True, text=True)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stderr.splitlines() if line.strip()] or [f"pip ended with {done.returncode}"]
    return next((line for line in errors if "ERROR" in line), errors[-1])


def versions(target: pathlib.Path) -> dict[str, str]:
    """Versions of Python, of the driver and of the packages, without importing them; 'none' for one that is missing."""
    found = {"python": platform.python_version()}
    if shutil.which("nvidia-smi"):
        command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True)
        found["driver"] = "; ".join(done.stdout.split("\n")).strip("; ") or "none"
    for name in PACKAGES:
        for place in metadata.distributions(name=name, path=[str(target), *sys.path]):
            found[name] = place.version
            break
        else:
            found[name] = "none"
    return found


def environment_of(target: pathlib.Path, tiny: bool) -> dict[str, str]:
    """The environment variables of the parts' processes."""
    # Threads that wait for each other do nothing for tiny shapes.
    threads = {"OMP_NUM_THREADS": "1"} if tiny else {}
    inherited = os.environ.get("PYTHONPATH")
    path = [str(target), str(ROOT / "trainer-image"), str(HERE), *([inherited] if inherited else [])]
    return {
        **os.environ,
        **threads,
        "PYTHONPATH": os.pathsep.join(path),
        # With several, transformers would spread the rows over all.
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0"),
        "PYTHONWARNINGS": "ignore",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "HF_HUB_OFFLINE": "1",
        "TRL_EXPERIMENTAL_SILENCE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
