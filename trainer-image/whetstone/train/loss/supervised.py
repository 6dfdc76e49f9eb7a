"""The supervised part of the loss: reference solutions of the iteration's tasks, as conversations to imitate."""

from __future__ import annotations

import json
from dataclasses import dataclass

import torch
from trl.trainer.utils import pad

from whetstone.chat.renderer import Renderer, TextTooLong
from whetstone.cut_text import start_of
from whetstone.engine import ModelError
from whetstone.envs.process import EnvironmentProcess

from ..output.notices import Notices


@dataclass
class Reference:
    """A reference solution, played to its end.

    `ids` are the tokens of prompt and completion, and `prompt` is the number of prompt tokens. `taught` `[len(ids) -
    prompt]` is 1 for each token of the agent's turns.
    """

    ids: list[int]
    prompt: int
    taught: list[int]


class References:
    """Plays reference solutions through the environments, one step in each turn, and renders them like rollouts.

    `tools` are the tools of each environment. `limit` is the model's length in tokens.
    """

    def __init__(
        self, environments: list[EnvironmentProcess], tools: list[list[dict]], renderer: Renderer, limit: int
    ) -> None:
        self._environments, self._tools, self._renderer, self._limit = environments, tools, renderer, limit
        self._notices = Notices()

    def play(self, tasks: list[tuple[int, int]]) -> list[Reference]:
        """References of the tasks, each given as `(number of the environment, seed)`.

        A reference that raises or earns less than 1 is left out. Raises SandboxError if a process fails, and ModelError
        if the chat template writes a call in a form that the rollouts' parser does not read.
        """
        references = []
        for place, environment in enumerate(self._environments):
            seeds = list(dict.fromkeys(seed for where, seed in tasks if where == place))
            if seeds:
                references += self._play(place, environment, seeds)
        return references

    def _play(self, place: int, environment: EnvironmentProcess, seeds: list[int]) -> list[Reference]:
        asked = [("reset", {"episode": _name(seed), "seed": seed}) for seed in seeds]
        asked += [("reference", {"seed": seed}) for seed in seeds]
        answers = _batch(environment, asked)
        opened = list(zip(seeds, answers[: len(seeds)], answers[len(seeds) :], strict=True))
        asked, ends = [], []
        for seed, _, reference in opened:
            asked += [("step", {"episode": _name(seed), **run}) for run in _runs(reference.get("result", {}))]
            asked.append(("evaluate", {"episode": _name(seed)}))
            ends.append(len(asked))
        answers = _batch(environment, asked)
        references = []
        for begin, end, (seed, opening, reference) in zip([0, *ends], ends, opened, strict=False):
            outcomes = [opening, reference, *answers[begin:end]]
            if error := next((outcome["error"] for outcome in outcomes if "error" in outcome), None):
                self._skip(environment, seed, error["message"])
                continue
            messages, calls, *played, reward = (outcome["result"] for outcome in outcomes)
            if reward["reward"] < 1:
                self._skip(environment, seed, f"it earns {reward['reward']:g} and not 1")
                continue
            try:
                observations = [observation for step in played for observation in step["observations"]]
                references.append(self._render(place, messages["messages"], calls["calls"], observations))
            except TextTooLong as error:
                self._skip(environment, seed, str(error))
        return references

    def _skip(self, environment: EnvironmentProcess, seed: int, why: str) -> None:
        words = f"the reference solution of environment {environment.name} for seed {seed} is not taught: {why}"
        self._notices.warn(environment.name, words)

    def _render(self, place: int, messages: list[dict], moves: list[dict], observations: list[str]) -> Reference:
        """One turn for each played step, as far as they fit into the model's length."""
        tools = self._tools[place]
        ids = self._renderer.prompt(messages, tools)
        reference = Reference(ids, len(ids), [])
        for number, (move, observation) in enumerate(zip(moves, observations, strict=False)):
            if "text" in move:
                own, wanted = self._renderer.text_turn(move["text"]), []
            else:
                own = self._renderer.call_turn(move["name"], move["arguments"])
                wanted = [(move["name"], move["arguments"])]
            reply = self._renderer.read(reference.ids, own, tools, number)
            if [(one.name, json.loads(one.arguments)) for one in reply.calls] != wanted:
                raise ModelError(
                    "supervisedWeight needs a chat template whose tool calls can be read again; this one writes"
                    f" {start_of(self._renderer.chat.decode(own), 200)!r}"
                )
            others = [] if number + 1 == len(observations) else self._renderer.bridge(reply, [observation])
            if len(reference.ids) + len(own) + len(others) >= self._limit:
                break
            reference.ids += own + others
            reference.taught += [1] * len(own) + [0] * len(others)
        return reference


def _name(seed: int) -> str:
    return f"reference.{seed}"


def _runs(reference: dict) -> list[dict]:
    """The parameters of the steps that play a reference: consecutive calls together, each text separately."""
    runs: list[dict] = []
    for move in reference.get("calls", []):
        if "text" in move:
            runs.append({"text": move["text"]})
        elif runs and "calls" in runs[-1]:
            runs[-1]["calls"].append(move)
        else:
            runs.append({"calls": [move]})
    return runs


def _batch(environment: EnvironmentProcess, requests: list[tuple[str, dict]]) -> list[dict]:
    return environment.batch([{"method": method, "params": params} for method, params in requests])


def supervised_inputs(references: list[Reference], padding: int, device: torch.device) -> dict | None:
    """The references as tensors of a step in TRL's form; None if there are none.

    `padding` is the padding token. `num_items_in_batch` is the number of taught tokens.
    """
    references = [reference for reference in references if any(reference.taught)]
    if not references:
        return None

    def padded(rows: list[list[int]], value: int, side: str) -> torch.Tensor:
        return pad([torch.tensor(row) for row in rows], value, side).to(device)

    prompts = [reference.ids[: reference.prompt] for reference in references]
    completions = [reference.ids[reference.prompt :] for reference in references]
    inputs = {
        "prompt_ids": padded(prompts, padding, "left"),
        "prompt_mask": padded([[1] * len(row) for row in prompts], 0, "left"),
        "completion_ids": padded(completions, padding, "right"),
        "completion_mask": padded([[1] * len(row) for row in completions], 0, "right"),
        "tool_mask": padded([reference.taught for reference in references], 0, "right"),
    }
    return inputs | {"num_items_in_batch": inputs["tool_mask"].sum()}


def is_supervised(inputs: dict) -> bool:
    """True for the tensors of references, which have no advantages."""
    return "advantages" not in inputs
