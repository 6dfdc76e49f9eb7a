"""Plays an agent's own tasks with the base model, or with checkpoints of a training.

    python bench/watched/play_checkpoints.py plan.json

The engine and the environment's jail are those of the trainer, so that an episode has the tokens that the policy
server would sample for the same seeds. The plan is JSON: {"model", "environment", "isolation", "jailProfile",
"threads", "temperature", "maxTurns", "maxCompletionTokens", "successReward", "tasks", "adapters"}. `tasks` has
{"seed", "samplingSeeds"} for each task, a sampling seed for each trial. `adapters` has directories of adapters, null
for the base model. Standard output is JSON: {"tags": tags of each task, "passes": 1 or 0 of each adapter, task and
trial}.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import torch
from whetstone.chat.renderer import Renderer
from whetstone.engine import Engine, Weights, read_adapter
from whetstone.envs.client import open_environment
from whetstone.envs.process import EnvironmentProcess
from whetstone.sampling import EngineSampler
from whetstone.train.job import Algorithm
from whetstone.train.loop.rollouts import Rollouts

# Episodes that are played side by side.
BATCH = 200


def tags_of(environment: EnvironmentProcess, seeds: list[int]) -> list[list[str]]:
    """Tags of the tasks, as the environment gives them."""
    tags = []
    for seed in seeds:
        tags.append(environment.request("reset", {"episode": "tags", "seed": seed})["tags"])
        environment.request("drop", {"episode": "tags"})
    return tags


def play(rollouts: Rollouts, plan: dict, base: bool) -> list[list[int]]:
    """1 for each episode that passes, 0 for each that does not, by task and trial."""
    asked = [(task["seed"], seed) for task in plan["tasks"] for seed in task["samplingSeeds"]]
    passed: list[int] = []
    for first in range(0, len(asked), BATCH):
        episodes = rollouts.play_tasks(asked[first : first + BATCH], base)
        passed += [int(not one.raised and one.reward >= plan["successReward"]) for one in episodes]
    outcomes = iter(passed)
    return [[next(outcomes) for _ in task["samplingSeeds"]] for task in plan["tasks"]]


def main() -> None:
    """Plays the plan that the only argument names."""
    plan = json.loads(Path(sys.argv[1]).read_text())
    torch.set_num_threads(plan["threads"])
    model = Path(plan["model"])
    weights = Weights.read(model, "cpu")
    sampler = EngineSampler(Engine(weights, BATCH, exact=False))
    algorithm = Algorithm(
        temperature=plan["temperature"], maxTurns=plan["maxTurns"], maxCompletionTokens=plan["maxCompletionTokens"]
    )
    with contextlib.ExitStack() as stack:
        environment = stack.enter_context(open_environment(plan["environment"], plan["isolation"], plan["jailProfile"]))
        rollouts = Rollouts(sampler, Renderer(model), [environment], algorithm, 0, 0)
        passes = []
        for adapter in plan["adapters"]:
            if adapter is not None:
                sampler.put(read_adapter(Path(adapter), weights.shape))
            passes.append(play(rollouts, plan, adapter is None))
        tags = tags_of(environment, [task["seed"] for task in plan["tasks"]])
    print(json.dumps({"tags": tags, "passes": passes}))


if __name__ == "__main__":
    main()
