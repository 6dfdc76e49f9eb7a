"""Compares this checkout with an earlier one: labelling, jail, trainer and gateway, in turns.

    git worktree add ../earlier COMMIT && (cd ../earlier && make build)
    scripts/bench.sh beside --before ../earlier [--rounds 5] [--only label,jail]

Each round runs every measurement in both checkouts, with their own code, one after the other; the order changes from
round to round. Figures are medians over the rounds. `worsePercent` is by how much this checkout's figure is worse:
longer, or fewer a second. The trainer trains the demo's model in the same jailed environment on both sides, and both
adapters must have the same bytes. The last line is JSON: {"name", "rounds", "worsePercent", "sameAdapter"}.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable

from train import DESK, demo_model, make_job

ROOT = pathlib.Path(__file__).resolve().parents[1]
Figures = dict[str, float]
# Of these more is better; of all others less.
RATES = {"jail: steps a second of 64 episodes"}


def last_json(command: list[str], checkout: pathlib.Path) -> tuple[dict, str]:
    """The last line of a measurement, and all that it printed."""
    done = subprocess.run(command, cwd=checkout, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1]), done.stdout


def measure_label(checkout: pathlib.Path) -> Figures:
    """Seconds for 6,000 calls with 256 in flight, beside a bare client's."""
    script = ["node", "dist/bench/label.js", "--calls", "6000", "--concurrency", "256", "--rounds", "1"]
    _, text = last_json(script, checkout)
    return {"label: seconds for 6,000 calls": float(re.search(r"ours ([\d.]+) s", text)[1])}


def measure_jail(checkout: pathlib.Path) -> Figures:
    """Milliseconds of starts and steps."""
    found, _ = last_json(["node", "dist/bench/jail.js", "--skip-attacks", "--starts", "40"], checkout)
    return {
        "jail: start": found["startP50Ms"],
        "jail: start out of a waiting jail": found["warmStartP50Ms"],
        "jail: step": found["stepP50Ms"],
        "jail: steps a second of 64 episodes": found["episodes64"]["stepsPerSecond"],
    }


class Trainer:
    """Trains the same job with each checkout's trainer and keeps the hashes of the adapters."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self.hashes: set[str] = set()
        arguments = argparse.Namespace(
            model=demo_model(),
            environment=DESK / "analyst" / "environments" / "status-before-cancel.py",
            isolation="jail",
            threads=os.cpu_count() or 1,
            iterations=40,
        )
        self._job = make_job(arguments, folder)

    def measure(self, checkout: pathlib.Path) -> Figures:
        """Seconds for 640 rollouts and their updates, without the start."""
        output = pathlib.Path(tempfile.mkdtemp(dir=self._folder))
        # Each side jails with its own profile.
        profile = str(checkout / "sandbox" / "profile.json")
        (output / "job.json").write_text(
            json.dumps({**self._job, "outputDir": str(output / "out"), "jailProfile": profile})
        )
        environment = {**os.environ, "PYTHONPATH": str(checkout / "trainer-image"), "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, "-m", "whetstone.train", "--job", str(output / "job.json")]
        subprocess.run(command, cwd=checkout, env=environment, stdout=subprocess.DEVNULL, check=True)
        seconds = json.loads((output / "out" / "manifest.json").read_text())["seconds"]
        weights = next((output / "out").rglob("adapter_model.safetensors"))
        self.hashes.add(hashlib.sha256(weights.read_bytes()).hexdigest())
        return {"train: seconds for 640 rollouts": seconds["total"] - seconds["startup"]}


def gateway_of(before: pathlib.Path) -> Figures:
    """In percent, what a request costs more than before at the median; both gateways take turns by themselves."""
    script = ["node", "dist/bench/gateway.js", "--only", "whetstone", "--before", str(before / "dist")]
    found, _ = last_json(script, ROOT)
    slower = found["slowerPercent"]
    cells = {f"gateway: {cell}": figures["p50"] for cell, figures in slower.items() if isinstance(figures, dict)}
    return {**cells, "gateway: requests a second": slower["rps"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=pathlib.Path, required=True, help="the earlier checkout, built")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each measurement (default 5)")
    parser.add_argument("--only", default="label,jail,train,gateway", help="measurements, with commas between them")
    arguments = parser.parse_args()
    wanted, known = arguments.only.split(","), ("label", "jail", "train", "gateway")
    if unknown := [one for one in wanted if one not in known]:
        parser.error(f"--only: {unknown[0]} is no measurement; one of {', '.join(known)}")
    if arguments.rounds < 1:
        parser.error(f"--rounds: {arguments.rounds}; a whole number above 0")
    before = arguments.before.resolve()
    if not (before / "dist" / "workflow-bundle.js").exists():
        parser.error(f"--before: {before} has no dist/workflow-bundle.js: run `make build` there")
    with tempfile.TemporaryDirectory() as name:
        trainer = Trainer(pathlib.Path(name)) if "train" in wanted else None
        measures: dict[str, Callable[[pathlib.Path], Figures]] = {"label": measure_label, "jail": measure_jail}
        if trainer is not None:
            measures["train"] = trainer.measure
        chosen = [measures[one] for one in wanted if one != "gateway"]
        sides = {"here": ROOT, "before": before}
        found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        relative: dict[str, list[float]] = defaultdict(list)
        for number in range(arguments.rounds):
            order = list(sides) if number % 2 == 0 else list(reversed(sides))
            for measure in chosen:
                for side in order:
                    for figure, value in measure(sides[side]).items():
                        found[figure][side].append(value)
            if "gateway" in wanted:
                for figure, value in gateway_of(before).items():
                    relative[figure].append(value)
            print(f"round {number + 1} of {arguments.rounds} done", flush=True)
    worse = {}
    for figure, values in found.items():
        here, earlier = statistics.median(values["here"]), statistics.median(values["before"])
        worse[figure] = round(((earlier / here if figure in RATES else here / earlier) - 1) * 100, 1)
        print(f"{figure:<40} here {here:10.3f}  before {earlier:10.3f}  {worse[figure]:+6.1f} %")
    for figure, values in relative.items():
        worse[figure] = round(statistics.median(values), 1)
        print(f"{figure:<40} {worse[figure]:+6.1f} %")
    same = None if trainer is None else len(trainer.hashes) == 1
    print(json.dumps({"name": "beside", "rounds": arguments.rounds, "worsePercent": worse, "sameAdapter": same}))


if __name__ == "__main__":
    main()
