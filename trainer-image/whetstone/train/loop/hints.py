"""Hints: in a share of the rollouts the agent reads advice that the update does not see."""

from __future__ import annotations

import math

from whetstone.chat.renderer import Renderer, TextTooLong
from whetstone.engine import derive_seed
from whetstone.envs.process import EnvironmentProcess

from ..output.notices import Notices
from .episode import Episode


class Hints:
    """Gives a share of each group's rollouts the environment's hints for their task.

    Such an episode has two prompts. The engine reads `shown`, and the update gets the plain one in `ids`, with the same
    completion. `tools` are the tools of each environment, `limit` is the model's length in tokens.
    """

    def __init__(
        self,
        environments: list[EnvironmentProcess],
        tools: list[list[dict]],
        renderer: Renderer,
        share: float,
        seed: int,
        limit: int,
    ) -> None:
        self._environments, self._tools, self._renderer = environments, tools, renderer
        self._share, self._seed, self._limit = share, seed, limit
        self._notices = Notices()
        self._known = [bool(share) and environment.describe()["hasHints"] for environment in environments]

    def add(self, iteration: int, episodes: list[Episode]) -> None:
        """Draws the episodes that get hints, and sets their `shown` if the environment has hints for the task."""
        drawn = [episode for episode in episodes if self._drawn(iteration, episode)]
        for place, environment in enumerate(self._environments):
            mine = [episode for episode in drawn if episode.environment == place]
            if mine and not self._known[place]:
                self._notices.warn(f"none {place}", f"environment {environment.name} has no hints; it trains without")
            elif mine:
                self._show(environment, mine)

    def _drawn(self, iteration: int, episode: Episode) -> bool:
        """Systematic sampling: each group's share is rounded down or up, so that it is right on average."""
        if not self._share:
            return False
        offset = derive_seed(self._seed, iteration, episode.group, "hints") / 2**63
        place = episode.number * self._share + offset
        return math.floor(place + self._share) > math.floor(place)

    def _show(self, environment: EnvironmentProcess, episodes: list[Episode]) -> None:
        seeds = list(dict.fromkeys(episode.task_seed for episode in episodes))
        outcomes = environment.batch([{"method": "hints", "params": {"seed": seed}} for seed in seeds])
        hints = {}
        for seed, outcome in zip(seeds, outcomes, strict=True):
            if "error" in outcome:
                words = f"hints of environment {environment.name} for seed {seed} failed: {outcome['error']['message']}"
                self._notices.warn(f"failed {environment.name}", words)
            else:
                hints[seed] = outcome["result"]["hints"]
        for episode in episodes:
            if not hints.get(episode.task_seed):
                continue
            messages = with_hints(episode.opening, hints[episode.task_seed])
            try:
                shown = self._renderer.prompt(messages, self._tools[episode.environment])
                size = f"{len(shown)} tokens"
            except TextTooLong as error:
                shown, size = None, str(error)
            if shown is not None and len(shown) < self._limit:
                episode.shown = shown
            else:
                words = f"hints of environment {environment.name} make a prompt that is too long to use: {size}"
                self._notices.warn(f"long {environment.name}", words)


def with_hints(messages: list[dict], hints: list[str]) -> list[dict]:
    """The opening, with a list of the hints at the end of the last user message, or of the last message if there is
    none.
    """
    users = [place for place, message in enumerate(messages) if message["role"] == "user"]
    last = users[-1] if users else len(messages) - 1
    text = "\n".join([f"{messages[last]['content']}\n\nHints:", *(f"- {hint}" for hint in hints)])
    return [*messages[:last], {**messages[last], "content": text}, *messages[last + 1 :]]
