"""The agent's own tasks in the trainer: its environment in the same jail as the generated one, and its rollouts."""

from __future__ import annotations

import contextlib
import dataclasses

from whetstone.chat.renderer import Renderer
from whetstone.envs.client import open_environment
from whetstone.envs.errors import SandboxError
from whetstone.envs.process import EnvironmentProcess
from whetstone.sampling import Sampler

from ..job import ProbeTask, TrainingJob, WatchedAgent
from ..loop.rollouts import EnvironmentFailed, Rollouts

# Types of errors that say nothing about the environment itself.
OUTSIDE = ("Sandbox.EnvironmentKilled", "Sandbox.Unavailable")
# Rewards that differ by less are equal.
SAME = 1e-9


class NotHosted(Exception):
    """The agent's environment cannot be played here; the message is the reason, as the end of a sentence."""


class AgentTasks:
    """Plays the agent's own tasks as the deployed agent does: with its temperature, turns and tokens.

    Raises NotHosted from each method, SandboxError only where something outside the jail is at fault.
    """

    def __init__(
        self, job: TrainingJob, agent: WatchedAgent, sampler: Sampler, renderer: Renderer, stack: contextlib.ExitStack
    ) -> None:
        self._agent = agent
        with _faults_of_the_agent():
            self._environment = stack.enter_context(
                open_environment(agent.environment.path, job.isolation, job.jailProfile or None)
            )
            algorithm = dataclasses.replace(
                job.algorithm,
                temperature=agent.temperature,
                maxTurns=agent.maxTurns,
                maxCompletionTokens=agent.maxCompletionTokens,
                hintShare=0.0,
            )
            self._rollouts = Rollouts(sampler, renderer, [self._environment], algorithm, job.seed, 0)
            check_recorded(self._environment, agent)

    def play(self, tasks: list[ProbeTask], base: bool = False) -> tuple[list[bool], int]:
        """Which of the tasks the sampler's latest adapter passes, and the sampled tokens. `base`: the base model."""
        with _faults_of_the_agent():
            episodes = self._rollouts.play_tasks([(task.seed, task.samplingSeed) for task in tasks], base)
        passed = [not one.raised and one.reward >= self._agent.successReward for one in episodes]
        return passed, sum(sum(one.sampled) for one in episodes)


@contextlib.contextmanager
def _faults_of_the_agent():
    """Raises NotHosted for a fault of the agent's environment."""
    try:
        yield
    except SandboxError as error:
        if error.type in OUTSIDE:
            raise
        raise NotHosted(f"the agent's environment fails in the trainer's jail: {error.message}") from error
    except EnvironmentFailed as error:
        raise NotHosted(f"the agent's environment fails in the trainer's jail: {error}") from error


def check_recorded(environment: EnvironmentProcess, agent: WatchedAgent) -> None:
    """Repeats recorded episodes of the agent, call by call. Raises NotHosted when one earns another reward here.

    An environment that needs the network or its folder may answer without them, and then judge every agent wrongly.
    """
    for number, episode in enumerate(agent.recorded):
        name = f"recorded.{number}"
        environment.request("reset", {"episode": name, "seed": episode.seed})
        for step in episode.steps:
            if environment.request("step", {"episode": name, **step})["done"]:
                break
        reward = environment.request("evaluate", {"episode": name})["reward"]
        if abs(reward - episode.reward) > SAME:
            raise NotHosted(
                f"in the trainer's jail the agent's environment gives {reward:g} for the recorded episode of task"
                f" {episode.seed}, which earned {episode.reward:g}"
            )
