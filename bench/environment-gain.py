"""What each adapter of a finished run gains in the environment that it was trained in, on tasks that it never saw.

    scripts/bench.sh environment-gain STATE_DIRECTORY [--tasks 50] [--rollouts 2]

A state directory is WHET_HOME of a run whose trainings sampled with vLLM; its newest report counts. A vLLM server of
its own answers for the base model and for the adapter, at the temperature and with the limits of the training, in the
jail that the training had. The tasks follow those of the training. A gain is the adapter's mean minus base's on the
same tasks, in points, with a 95 % percentile interval over tasks (10,000 resamples; rollouts of a task stay together).
Success is a reward of 0.99 or more. The last line is JSON: {"name", "tasks", "rollouts", "adapters": [{"adapter",
"base", "success", "gain", "low", "high", "baseReward", "reward"}]}.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import pathlib
import random
import statistics
import sys
import tempfile

from peft import PeftModel
from transformers import AutoModelForCausalLM
from whetstone.chat.renderer import Renderer
from whetstone.envs.client import open_environment
from whetstone.sampling import Sample, Sampler, SampleRequest
from whetstone.sampling.vllm_sampler import CONCURRENCY, VllmSampler
from whetstone.sampling.vllm_server import VllmServer
from whetstone.train.job import TrainingJob, parse_job
from whetstone.train.loop.open_sampler import managed_server
from whetstone.train.loop.rollouts import Rollouts
from whetstone.train.output.result import write_adapter

SUCCESS = 0.99
RESAMPLES = 10_000


class BaseSampler:
    """The sampler of the base model: `sampler` without an adapter."""

    reports_logprobs = True

    def __init__(self, sampler: VllmSampler) -> None:
        self.length, self.length_setting = sampler.length, sampler.length_setting
        self._sampler = sampler

    def sample(self, requests: list[SampleRequest]) -> list[Sample]:
        """Completions of the requests."""
        return self._sampler.sample_base(requests)


def trainings(home: pathlib.Path) -> list[tuple[str, pathlib.Path, TrainingJob]]:
    """Name and directory of each adapter of the newest finished run, and the job that it was trained by."""
    reports = [json.loads(path.read_text()) for path in home.glob("store/runs/*/report/report.json")]
    if not reports:
        raise SystemExit(f"environment-gain: {home} has no finished run (store/runs/RUN/report/report.json)")
    report = max(reports, key=lambda one: one["createdAt"])
    folder = home / "store" / "runs" / report["runId"] / "training"
    jobs = [parse_job(path.read_text()) for path in sorted(folder.glob("*/job.json"))]
    found = []
    for capability in report["sharpened"]:
        adapter = capability.get("adapter")
        job = next((job for job in jobs if job.jobId.endswith(f"/{capability['capability']['id']}")), None)
        if adapter is not None and job is not None and job.sampler != "engine":
            found.append((adapter["name"], home / "store" / adapter["key"], job))
    if not found:
        raise SystemExit(f"environment-gain: {report['runId']} has no adapter that was trained with vLLM as sampler")
    return found


def rewards(sampler: Sampler, job: TrainingJob, tasks: int, rollouts: int) -> list[list[float]]:
    """Rewards of `rollouts` episodes of each of `tasks` tasks that the training never drew."""
    sizes = {"groups": tasks, "rolloutsPerGroup": rollouts, "iterations": 1, "warmupIterations": 0, "resampleGroups": 0}
    algorithm = dataclasses.replace(job.algorithm, **sizes, hintShare=0.0)
    first = job.taskSeedStart + job.algorithm.tasks
    with contextlib.ExitStack() as environments:
        opened = [
            environments.enter_context(open_environment(one.path, job.isolation, job.jailProfile or None))
            for one in job.environments
        ]
        played = Rollouts(sampler, Renderer(pathlib.Path(job.baseModel)), opened, algorithm, 1, first).collect(0)
    earned: list[list[float]] = [[] for _ in range(tasks)]
    for episode in played.episodes:
        earned[episode.group].append(episode.reward)
    return earned


def shares(earned: list[list[float]]) -> list[float]:
    """Share of successes of each task."""
    return [statistics.mean(reward >= SUCCESS for reward in task) for task in earned]


def gain(arm: list[float], base: list[float]) -> tuple[float, float, float]:
    """Estimate, low and high of the mean difference, in points."""
    differences = [100 * (a - b) for a, b in zip(arm, base, strict=True)]
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(differences, k=len(differences))) for _ in range(RESAMPLES))
    return statistics.fmean(differences), means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]


def measure(name: str, directory: pathlib.Path, job: TrainingJob, tasks: int, rollouts: int) -> dict:
    """The row of one adapter."""
    with tempfile.TemporaryDirectory() as folder, managed_server([job], pathlib.Path(folder)) as server:
        sampler = VllmSampler(
            VllmServer(server.url, CONCURRENCY, server.key, own=True),
            "gain-",
            "1",
            pathlib.Path(folder) / "sampler",
            lambda model, target: write_adapter(job, model, target),
            lambda: server.ended,
            lambda text: print(text or "the sampler answers", file=sys.stderr),
        )
        sampler.publish(PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(job.baseModel), directory))
        base = rewards(BaseSampler(sampler), job, tasks, rollouts)
        arm = rewards(sampler, job, tasks, rollouts)
        sampler.close()
    estimate, low, high = gain(shares(arm), shares(base))
    return {
        "adapter": name,
        "base": round(100 * statistics.fmean(shares(base)), 1),
        "success": round(100 * statistics.fmean(shares(arm)), 1),
        **{"gain": round(estimate, 1), "low": round(low, 1), "high": round(high, 1)},
        "baseReward": round(statistics.fmean(reward for task in base for reward in task), 3),
        "reward": round(statistics.fmean(reward for task in arm for reward in task), 3),
    }


def main() -> None:
    """Measures every adapter and prints the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=pathlib.Path, metavar="STATE_DIRECTORY")
    parser.add_argument("--tasks", type=int, default=50, help="of each environment (default 50)")
    parser.add_argument("--rollouts", type=int, default=2, help="of each task, by each of the two (default 2)")
    arguments = parser.parse_args()
    rows = []
    for name, directory, job in trainings(arguments.home.resolve()):
        rows.append(measure(name, directory, job, arguments.tasks, arguments.rollouts))
        row = rows[-1]
        print(
            f"{name}: base {row['base']} %, adapter {row['success']} %, {row['gain']:+} points"
            f" [{row['low']:+}, {row['high']:+}]; mean reward {row['baseReward']} and {row['reward']}",
            flush=True,
        )
    sizes = {"tasks": arguments.tasks, "rollouts": arguments.rollouts}
    print(json.dumps({"name": "environment-gain", **sizes, "adapters": rows}))


if __name__ == "__main__":
    main()
