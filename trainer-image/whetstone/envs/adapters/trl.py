"""An environment of ours in plain TRL:

    from trl import GRPOConfig, GRPOTrainer
    from whetstone.envs.adapters.trl import EnvironmentFactory

    factory = EnvironmentFactory("environment.py")
    trainer = GRPOTrainer(
        model="Qwen/Qwen3-4B-Instruct-2507", args=GRPOConfig(...),
        train_dataset=factory.dataset(640), environment_factory=factory,
    )

The factory's objects have the environment's tools as methods, and its reward as `get_reward`. The dataset's prompts are
its openings. The environment runs in the jail, with all episodes in one process.

TRL's interface (1.16) differs from ours in four points:

- An environment cannot end a rollout. Calls after the end are answered with OVER and change nothing.
- Text without a tool call ends a rollout, and the environment does not get it (`say`).
- TRL itself answers calls of unknown tools.
- TRL reads schemas from Python signatures (see python_tools.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..client import open_environment
from ..process import EnvironmentProcess
from .episodes import TRAINING_SEEDS, Episode
from .python_tools import tool_function

# Names of methods that have a special meaning in TRL.
RESERVED = ("reset", "get_reward")


class EnvironmentFactory:
    """The `environment_factory` of TRL's GRPOTrainer. Create it in the thread that trains, because the jail dies with
    that thread.

    path: the environment's module. isolation: "jail" for generated code, "process" for the owner's own. Raises
    SandboxError if the jail or the module does not start, and ValueError for tools that cannot be Python methods.
    """

    def __init__(self, path: str | Path, isolation: str = "jail", profile: str | Path | None = None) -> None:
        self.process: EnvironmentProcess = open_environment(path, isolation=isolation, profile=profile)
        self.tools: list[dict] = self.process.describe()["tools"]
        try:
            self._kind = _rollout_class(Path(path).stem, self.process, self.tools)
        except ValueError:
            self.close()
            raise

    def __call__(self) -> Any:
        """An object for one rollout at a time; TRL makes one for each parallel rollout and reuses them."""
        return self._kind()

    def __enter__(self) -> EnvironmentFactory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def dataset(self, count: int, first_seed: int = TRAINING_SEEDS) -> Any:
        """A `datasets.Dataset` of tasks: `prompt`, the opening messages, and `seed`, which TRL passes to `reset`."""
        from datasets import Dataset

        rows: dict[str, list] = {"prompt": [], "seed": []}
        for seed in range(first_seed, first_seed + count):
            episode = Episode(self.process, seed)
            episode.close()
            rows["prompt"].append(episode.messages)
            rows["seed"].append(seed)
        return Dataset.from_dict(rows)

    def close(self) -> None:
        """Ends the environment's process."""
        self.process.close()


def _rollout_class(name: str, process: EnvironmentProcess, tools: list[dict]) -> type:
    """A class with a method for each tool, because TRL looks for functions of the class."""

    def call(self: Any, tool: str, arguments: dict) -> str:
        return self._episode.call(tool, arguments)

    def reset(self: Any, seed: int | None = None, **_row: object) -> None:
        if seed is None:
            raise ValueError("The train_dataset has no column `seed`; make it with EnvironmentFactory.dataset().")
        if self._episode is not None:
            self._episode.close()
        self._episode = Episode(process, int(seed))

    def get_reward(self: Any) -> float:
        return self._episode.reward()

    members: dict[str, Any] = {"_episode": None, "reset": reset, "get_reward": get_reward, "__doc__": f"{name}, once."}
    for tool in tools:
        called = tool["function"]["name"]
        if called in RESERVED or called.startswith("_"):
            raise ValueError(f"The environment's tool {called} cannot be had in TRL, which keeps that name for itself.")
        members[called] = tool_function(tool, call)
    return type(name, (), members)
