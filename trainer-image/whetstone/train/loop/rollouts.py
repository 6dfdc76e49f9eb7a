"""Rollouts of many turns: the sampler generates the agent's turns, and the environments answer them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whetstone.chat.renderer import Renderer, Reply, TextTooLong
from whetstone.chat.tool_calls import ToolCall, call_arguments
from whetstone.cut_text import start_of
from whetstone.engine import derive_seed
from whetstone.envs.process import EnvironmentProcess
from whetstone.sampling import Sample, Sampler, SampleRequest

from ..job import Algorithm
from ..loss.loss_mask import TurnSpan
from ..loss.supervised import Reference, References
from .episode import Episode
from .hints import Hints

# An iteration fails if more than this share of its rollouts ended in an exception of the environment.
MAX_RAISED_SHARE = 0.5
# An environment's runtime refuses longer lists of calls, and longer names.
MAX_CALLS_PER_TURN, MAX_NAME_CHARACTERS = 64, 200


class EnvironmentFailed(Exception):
    """The environment raised too often, or gave an invalid answer."""


@dataclass(frozen=True)
class _Task:
    """A task to play: the number of its group, its seed, and the index of its environment."""

    group: int
    seed: int
    environment: int


@dataclass(frozen=True)
class Collected:
    """The update learns from `episodes`, group by group; `drawn` also has the episodes of replaced tasks."""

    episodes: list[Episode]
    drawn: list[Episode]


def is_constant(group: list[Episode]) -> bool:
    """True if all rollouts of a task earn the same reward, which teaches nothing."""
    return len({episode.reward for episode in group}) < 2


def sent_calls(calls: tuple[ToolCall, ...]) -> tuple[list[dict], dict[int, str]]:
    """The calls for the environment, and the answers to calls that it does not get, by their places in the reply.

    The same as in collection (activities/rollout/episode.ts).
    """
    sent, refused = [], {}
    for place, call in enumerate(calls[:MAX_CALLS_PER_TURN]):
        arguments = call_arguments(call.arguments)
        if arguments is None:
            refused[place] = f"Error: the arguments of {call.name} are not a JSON object."
        else:
            sent.append({"name": start_of(call.name, MAX_NAME_CHARACTERS), "arguments": arguments})
    return sent, refused


class Rollouts:
    """Collects the episodes of one iteration at a time, with the sampler's latest adapter.

    `seed` decides every random draw. The first task has the seed `task_seed_start`.
    """

    def __init__(
        self,
        sampler: Sampler,
        renderer: Renderer,
        environments: list[EnvironmentProcess],
        algorithm: Algorithm,
        seed: int,
        task_seed_start: int,
    ) -> None:
        self._sampler, self._renderer, self._environments = sampler, renderer, environments
        self._algorithm, self._seed, self._first_task = algorithm, seed, task_seed_start
        self._stop = tuple(sorted(renderer.end_ids))
        self._tools = [environment.describe()["tools"] for environment in environments]
        for environment, tools in zip(environments, self._tools, strict=True):
            # Without `say`, only calls have an effect.
            if tools and not environment.describe()["hasSay"]:
                renderer.check_calls()
        limit = sampler.length
        renderer.limit = limit
        self._hints = Hints(environments, self._tools, renderer, algorithm.hintShare, seed, limit)
        self._references = References(environments, self._tools, renderer, limit)

    def collect(self, iteration: int) -> Collected:
        """All episodes of an iteration (counted from 0), group by group. The same weights give the same episodes.

        Group g of iteration i is task number `i * groups + g` of the job. The number decides the task's seed. Modulo
        the number of environments, it also decides the environment. With `resampleGroups`, groups with equal rewards
        are replaced by groups of further tasks of the same environment, as long as there are any (DAPO's dynamic
        sampling, arXiv 2503.14476, section 3.2, with a limit). Raises EnvironmentFailed if too many episodes end in an
        exception, SandboxError if a process fails.
        """
        algorithm = self._algorithm
        first = range(iteration * algorithm.groups, (iteration + 1) * algorithm.groups)
        groups = self._play(
            iteration, [_Task(group, self._first_task + count, self._place(count)) for group, count in enumerate(first)]
        )
        drawn = [episode for group in groups for episode in group]
        # The numbers of further tasks follow the numbers of all iterations' tasks; each iteration has its own.
        further = self._first_task + algorithm.iterations * algorithm.groups + iteration * algorithm.resampleGroups
        left = algorithm.resampleGroups
        while left and (constant := [place for place, group in enumerate(groups) if is_constant(group)]):
            replaced = constant[:left]
            used = algorithm.resampleGroups - left
            # They get new group numbers, so that no random draw of the iteration is repeated.
            tasks = [
                _Task(algorithm.groups + used + n, further + used + n, groups[place][0].environment)
                for n, place in enumerate(replaced)
            ]
            left -= len(tasks)
            for place, group in zip(replaced, self._play(iteration, tasks), strict=True):
                drawn += group
                if not is_constant(group):
                    for episode in group:
                        episode.group = place
                    groups[place] = group
        return Collected([episode for group in groups for episode in group], drawn)

    def play_tasks(self, tasks: list[tuple[int, int]], base: bool = False) -> list[Episode]:
        """One scored episode for each task of the first environment, given as its seed and its sampling seed.

        Turn t samples with `sampling seed + t`, as the agent's own rollouts do. `base`: the base model plays, not the
        latest adapter. Raises the errors of `collect`.
        """
        episodes = [Episode(n, 0, seed, 0, sampling_seed=sampling) for n, (seed, sampling) in enumerate(tasks)]
        self._open(episodes)
        self._finish(0, episodes, self._sampler.sample_base if base else self._sampler.sample)
        return episodes

    def _place(self, count: int) -> int:
        """The environment of a task, by the task's number."""
        return count % len(self._environments)

    def _play(self, iteration: int, tasks: list[_Task]) -> list[list[Episode]]:
        """Episodes of each task, played and scored: as many as a group has."""
        count = self._algorithm.rolloutsPerGroup
        groups = [[Episode(task.group, n, task.seed, task.environment) for n in range(count)] for task in tasks]
        episodes = [episode for group in groups for episode in group]
        self._open(episodes)
        self._hints.add(iteration, episodes)
        self._finish(iteration, episodes, self._sampler.sample)
        return groups

    def _finish(
        self, iteration: int, episodes: list[Episode], sample: Callable[[list[SampleRequest]], list[Sample]]
    ) -> None:
        """Plays opened episodes to their end and scores them."""
        while running := [episode for episode in episodes if not episode.over]:
            self._turn(iteration, running, sample)
        self._score(episodes)
        raised = [episode for episode in episodes if episode.raised]
        if len(raised) > MAX_RAISED_SHARE * len(episodes):
            raise EnvironmentFailed(
                f"{len(raised)} of {len(episodes)} rollouts of one iteration ended in an exception of "
                f"the environment, the last one: {raised[-1].raised}"
            )

    def decode(self, ids: list[int]) -> str:
        """The text of tokens, including special tokens."""
        return self._renderer.chat.decode(ids)

    def references(self, episodes: list[Episode]) -> list[Reference]:
        """Reference solutions of the episodes' tasks. Raises the errors of References.play."""
        return self._references.play([(episode.environment, episode.task_seed) for episode in episodes])

    def _exchange(self, items: list[tuple[Episode, dict]]) -> list[tuple[Episode, dict]]:
        """Sends each environment its requests as one batch and returns the results.

        An error is recorded in its episode, which ends without a result.
        """
        results = []
        for place, environment in enumerate(self._environments):
            mine = [(episode, request) for episode, request in items if episode.environment == place]
            if not mine:
                continue
            outcomes = environment.batch([request for _, request in mine])
            for (episode, request), outcome in zip(mine, outcomes, strict=True):
                if "error" in outcome:
                    invented = self._invented_tool(episode, request)
                    if invented is not None:
                        answer = f"Error: there is no tool named {invented}."
                        results.append((episode, {"observations": [answer], "done": False}))
                        continue
                    error = outcome["error"]
                    episode.raised, episode.over = f"{error['type']}: {error['message']}", True
                else:
                    results.append((episode, outcome["result"]))
        return results

    def _invented_tool(self, episode: Episode, request: dict) -> str | None:
        """The tool that an agent's own task was asked for and does not have.

        As in collection, an environment that raises for it does not end the episode. A turn with several calls may have
        had an effect before it raised; it ends the episode.
        """
        calls = request["params"].get("calls", [])
        if episode.sampling_seed is None or len(calls) != 1:
            return None
        known = {tool["function"]["name"] for tool in self._tools[episode.environment]}
        return None if calls[0]["name"] in known else calls[0]["name"]

    @staticmethod
    def _name(episode: Episode) -> str:
        return f"{episode.group}.{episode.number}"

    def _open(self, episodes: list[Episode]) -> None:
        """Resets every episode to its task and encodes the opening."""

        def reset(episode: Episode) -> dict:
            return {"method": "reset", "params": {"episode": self._name(episode), "seed": episode.task_seed}}

        for episode, result in self._exchange([(episode, reset(episode)) for episode in episodes]):
            episode.opening = result["messages"]
            try:
                episode.ids = self._renderer.prompt(episode.opening, self._tools[episode.environment])
            except TextTooLong as error:
                raise self._too_long(episode, str(error)) from None
            episode.prompt = len(episode.ids)
        if broken := next((episode for episode in episodes if episode.raised), None):
            raise EnvironmentFailed(f"reset({broken.task_seed}) failed: {broken.raised}")
        longest = max(episodes, key=lambda episode: episode.prompt)
        limit = self._sampler.length
        if longest.prompt >= limit:
            raise self._too_long(longest, f"it has {longest.prompt} tokens; the model takes {limit}")

    def _too_long(self, episode: Episode, why: str) -> EnvironmentFailed:
        name = self._environments[episode.environment].name
        return EnvironmentFailed(
            f"the opening of environment {name} for seed {episode.task_seed} is too long: {why};"
            f" {self._sampler.length_setting}, or shorten the opening"
        )

    def _turn(
        self, iteration: int, running: list[Episode], sample_all: Callable[[list[SampleRequest]], list[Sample]]
    ) -> None:
        """One turn of every running episode: a completion, and the environment's answer to it."""
        requests = [self._request(iteration, episode) for episode in running]
        samples = sample_all(requests)
        replies: dict[int, Reply] = {}
        refusals: dict[int, dict[int, str]] = {}
        steps, results = [], []
        for episode, request, sample in zip(running, requests, samples, strict=True):
            reply = self._renderer.read(request.prompt, sample.tokens, self._tools[episode.environment], episode.turns)
            replies[id(episode)] = reply
            episode.add_sample(sample)
            end = len(episode.sampled)
            episode.truncated |= not reply.closed
            episode.failed_calls += reply.begins_call and not reply.calls
            episode.calls += [(call.name, call.arguments) for call in reply.calls]
            episode.spans.append(TurnSpan(end - len(sample.tokens), end, reply.begins_call))
            params: dict = {"episode": self._name(episode)}
            if reply.calls:
                params["calls"], refusals[id(episode)] = sent_calls(reply.calls)
            else:
                params["text"] = reply.content
            if reply.calls and not params["calls"]:
                results.append((episode, {"observations": [], "done": False}))
            else:
                steps.append((episode, {"method": "step", "params": params}))
        for episode, result in [*self._exchange(steps), *results]:
            if result["done"] or episode.turns >= self._algorithm.maxTurns:
                episode.over = True
                continue
            for place, refusal in refusals.get(id(episode), {}).items():
                result["observations"].insert(place, refusal)
            try:
                bridge = self._renderer.bridge(replies[id(episode)], result["observations"])
            except TextTooLong:
                bridge = None
            if bridge is None or len(episode.read) + len(bridge) >= self._sampler.length:
                episode.over = episode.truncated = True
                continue
            episode.add_given(bridge)

    def _request(self, iteration: int, episode: Episode) -> SampleRequest:
        if episode.sampling_seed is None:
            seed = derive_seed(self._seed, iteration, episode.group, episode.number, episode.turns)
        else:
            seed = episode.sampling_seed + episode.turns
        algorithm = self._algorithm
        return SampleRequest(list(episode.read), algorithm.maxCompletionTokens, algorithm.temperature, seed, self._stop)

    def _score(self, episodes: list[Episode]) -> None:
        """Sets the rewards of all episodes. An episode that raised keeps reward 0 and is dropped from its process."""
        whole = [episode for episode in episodes if not episode.raised]
        broken = [episode for episode in episodes if episode.raised]
        asked = [(e, {"method": "evaluate", "params": {"episode": self._name(e)}}) for e in whole]
        for episode, result in self._exchange(asked):
            episode.reward = float(result["reward"])
        for episode in broken:
            drop = {"method": "drop", "params": {"episode": self._name(episode)}}
            self._environments[episode.environment].batch([drop])
