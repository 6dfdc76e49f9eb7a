"""An environment of ours in Prime Intellect's verifiers (0.4, `verifiers.v1`).

verifiers plays OpenEnv servers itself (`verifiers.v1.tasksets.openenv`). So `whetstone.envs.adapters.openenv` serves
the environment, and this module only lists its tasks:

    from whetstone.envs.adapters.verifiers import taskset
    tasks = taskset("http://127.0.0.1:8000", seeds=range(1_000_000, 1_000_100))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def taskset(base_url: str, seeds: Iterable[int]) -> Any:
    """A verifiers taskset with one task for each seed of the environment at `base_url`."""
    from verifiers.v1.tasksets.openenv.taskset import OpenEnvConfig, OpenEnvTaskset

    return OpenEnvTaskset(OpenEnvConfig(base_url=base_url, resets=[{"seed": seed} for seed in seeds]))
