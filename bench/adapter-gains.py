"""What each adapter of finished runs gains on its own kind of held-out task, alone and as it is served.

    scripts/bench.sh adapter-gains STATE_DIRECTORY ...

A state directory is WHET_HOME of a finished run, for example one of `make bench NAME=worlds`; its newest report counts.
Kinds of tasks are the environment's own tags, which only measurements read. The own kind of an adapter are the tasks
with no other tag than the deficit that its capability was found for. A gain is the pass rate minus base's on the same
tasks, with a 95 % percentile interval over tasks (10,000 resamples; trials of a task stay together). Attempts are the
environments that were written until one was certified. The last line is JSON: {"name", "adapters", "medianAttempts",
"givenUp", "lowestLow", "lowestLowServed", "worstOtherAlone", "worstOtherServed", "worlds"}; gains in points.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import statistics
from collections import defaultdict

RESAMPLES = 10_000
# Kinds with fewer tasks are left out of the losses.
FEWEST_TASKS = 10

Rates = dict[int, float]


def newest_report(home: pathlib.Path) -> dict:
    """The report of the newest finished run."""
    reports = [json.loads(path.read_text()) for path in home.glob("store/runs/*/report/report.json")]
    if not reports:
        raise SystemExit(f"adapter-gains: {home} has no finished run (store/runs/RUN/report/report.json)")
    return max(reports, key=lambda report: report["createdAt"])


def pass_rates(home: pathlib.Path, report: dict, role: str) -> tuple[Rates, dict[int, frozenset[str]]]:
    """By seed: the share of trials that succeeded, and the tags."""
    key = next(one["ref"]["key"] for one in report["artifacts"] if one["role"] == role)
    trials, tags = defaultdict(list), {}
    with (home / "store" / key).open() as lines:
        for line in lines:
            episode = json.loads(line)
            seed = episode["task"]["seed"]
            trials[seed].append(1.0 if episode["success"] else 0.0)
            tags[seed] = frozenset(episode.get("tags", []))
    return {seed: statistics.mean(found) for seed, found in trials.items()}, tags


def gain(arm: Rates, base: Rates, seeds: list[int]) -> tuple[float, float, float]:
    """Estimate, low and high, in points."""
    differences = [100 * (arm[seed] - base[seed]) for seed in seeds]
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    return statistics.fmean(differences), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def worst_other(arm: Rates, base: Rates, kinds: dict[frozenset[str], list[int]], own: str) -> tuple[float, str]:
    """The lowest gain of the kinds of tasks that do not call for the capability."""
    others = {kind: seeds for kind, seeds in kinds.items() if own not in kind and len(seeds) >= FEWEST_TASKS}
    changes = {
        kind: statistics.fmean(100 * (arm[seed] - base[seed]) for seed in seeds) for kind, seeds in others.items()
    }
    kind = min(changes, key=lambda one: changes[one])
    return changes[kind], " and ".join(sorted(kind)) or "none"


def measure(home: pathlib.Path) -> list[dict]:
    """A row for each capability of the newest run."""
    report = newest_report(home)
    if report["evaluation"] is None or "planted" not in report["identification"]:
        raise SystemExit(
            f"adapter-gains: {report['runId']} of {home} has no evaluation, or its agent plants no deficits"
        )
    planted = {one["capabilityId"]: one["planted"] for one in report["identification"]["planted"]["found"]}
    base, tags = pass_rates(home, report, "held-out trajectories of base")
    served, _ = pass_rates(home, report, "held-out trajectories of routed")
    kinds = defaultdict(list)
    for seed in sorted(base):
        kinds[tags[seed]].append(seed)
    rows = []
    for sharpened in report["sharpened"]:
        capability, adapter = sharpened["capability"]["id"], sharpened["adapter"]
        row = {"capability": capability, "attempts": len(sharpened["attempts"]), "status": sharpened["status"]}
        own = planted.get(capability)
        if adapter is not None and own is not None:
            alone, _ = pass_rates(home, report, f"held-out trajectories of {adapter['name']}")
            seeds = kinds[frozenset([own])]
            row |= {"tasks": len(seeds), "alone": gain(alone, base, seeds), "served": gain(served, base, seeds)}
            row |= {
                "otherAlone": worst_other(alone, base, kinds, own),
                "otherServed": worst_other(served, base, kinds, own),
            }
        rows.append(row)
    return rows


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("homes", nargs="+", type=pathlib.Path, metavar="STATE_DIRECTORY")
    worlds = {home.name: measure(home) for home in parser.parse_args().homes}
    rows = [row for found in worlds.values() for row in found]
    trained = [row for row in rows if "alone" in row]
    if not trained:
        raise SystemExit("adapter-gains: no adapter of these runs is for a planted deficit")
    for world, found in worlds.items():
        for row in found:
            print(f"{world:<15} {row['capability']:<46} {row['attempts']} attempts, {row['status']}", end="")
            if "alone" in row:
                text = ", ".join(
                    f"{how} {row[how][0]:+.1f} [{row[how][1]:+.1f}, {row[how][2]:+.1f}]" for how in ("alone", "served")
                )
                others = ", ".join(f"{row[how][0]:+.1f} ({row[how][1]})" for how in ("otherAlone", "otherServed"))
                print(f"; {row['tasks']} tasks: {text}; worst other kind alone, served: {others}", end="")
            print()
    summary = {
        "name": "adapter-gains",
        "adapters": len(trained),
        "medianAttempts": statistics.median(row["attempts"] for row in rows),
        "givenUp": sum(row["status"] != "trained" for row in rows),
        "lowestLow": round(min(row["alone"][1] for row in trained), 1),
        "lowestLowServed": round(min(row["served"][1] for row in trained), 1),
        "worstOtherAlone": round(min(row["otherAlone"][0] for row in trained), 1),
        "worstOtherServed": round(min(row["otherServed"][0] for row in trained), 1),
    }
    print(json.dumps({**summary, "worlds": worlds}))


if __name__ == "__main__":
    main()
