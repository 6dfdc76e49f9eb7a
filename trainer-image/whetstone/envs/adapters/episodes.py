"""One episode of a jailed environment, for the adapters."""

from __future__ import annotations

import itertools
import json

from ..errors import SandboxError
from ..process import EnvironmentProcess

# Faults of an environment that end the episode without a reward, but not the training.
EPISODE_FAULTS = frozenset({"Sandbox.EnvironmentRaised", "Sandbox.BadReturn", "Sandbox.BadRequest"})
OVER = "The episode is over."
# First seed of the training tasks. Smaller seeds were used to measure the environment (contracts/limits.ts).
TRAINING_SEEDS = 1_000_000

_numbers = itertools.count()


class Episode:
    """An episode of `process` on the task of `seed`. One process can have several episodes; each belongs to one thread.

    messages: the opening, [{role, content}]. over: whether the environment gets no further call. fault: the
    environment's fault that ended the episode, or None. Raises SandboxError if the process itself fails.
    """

    def __init__(self, process: EnvironmentProcess, seed: int) -> None:
        self.seed = seed
        self.over = False
        self.fault: str | None = None
        self._process = process
        self._name = f"adapter-{next(_numbers)}"
        self._reward: float | None = None
        self.messages: list[dict] = process.request("reset", {"episode": self._name, "seed": seed})["messages"]

    def call(self, name: str, arguments: dict) -> str:
        """Makes one tool call and returns its observation."""
        # These are the values after a chat template and back, because a model only ever sees JSON.
        arguments = json.loads(json.dumps(arguments))
        return self._step({"calls": [{"name": name, "arguments": arguments}]})

    def say(self, text: str) -> str:
        """Passes on text without a tool call, and returns the answer.

        If the environment has no `say`, the episode ends.
        """
        return self._step({"text": text})

    def reward(self) -> float:
        """The episode's reward in [0, 1]. The first call ends the episode; later calls return the same value."""
        if self._reward is None:
            self._reward = self._evaluate()
        return self._reward

    def close(self) -> None:
        """Drops the episode without a reward."""
        if self._reward is None:
            self._reward = 0.0
            self._process.request("drop", {"episode": self._name})
        self.over = True

    def _step(self, move: dict) -> str:
        if self.over:
            return OVER
        try:
            result = self._process.request("step", {"episode": self._name, **move})
        except SandboxError as error:
            self._blame(error)
            return OVER
        self.over = result["done"]
        return result["observations"][0]

    def _evaluate(self) -> float:
        self.over = True
        if self.fault is not None:
            self._process.request("drop", {"episode": self._name})
            return 0.0
        try:
            return float(self._process.request("evaluate", {"episode": self._name})["reward"])
        except SandboxError as error:
            self._blame(error)
            return 0.0

    def _blame(self, error: SandboxError) -> None:
        if error.type not in EPISODE_FAULTS:
            raise error
        self.fault, self.over = error.message, True
