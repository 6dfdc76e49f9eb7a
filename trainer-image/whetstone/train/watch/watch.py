"""The watch over one training: its probes, the rules that stop it, and the checkpoint that is its result."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from peft import PeftModel, set_peft_model_state_dict
from safetensors.torch import load_file, save_file

from ..job import Algorithm, ProbeTask, WatchedAgent
from ..loop.adapter_weights import adapter_of
from ..output.notices import Notices
from .agent_tasks import AgentTasks, NotHosted
from .evidence import LOSS_WEIGHT, Pairs, Score, clearly_better, pairs_of, score
from .loss_rule import LossRule

FOLDER, STATE = "watch", "state.json"
# A probe plays at most so many times its first portion of other tasks, while these seem to be lost.
MOST_PORTIONS = 5
# Portions of other tasks that an earlier checkpoint plays before it is kept after a loss.
VERIFYING_PORTIONS = 3
# Most checkpoints in memory whose adapter may become the result.
KEPT = 3

Sampling = Callable[[], contextlib.AbstractContextManager[None]]


@dataclass
class Probe:
    """The results after one iteration. `reward` is the mean reward of the iterations since the probe before."""

    iteration: int
    reward: float
    calledFor: Pairs
    others: Pairs


@dataclass(frozen=True)
class Ended:
    """Why the watch ended a training before its last iteration: 'loss' of the other tasks, or 'no-gain'."""

    iteration: int
    why: str


class Watch:
    """Probes a training every `probeEvery` iterations and after the last one.

    A probe plays some of the agent's train tasks with the current adapter, those that call for the capability and
    others apart, and compares each outcome with the base model's on the same task and sampling seed. The training ends
    when the other tasks lose more than `probeMargin`, by more than chance, at two probes in a row (what the first
    iterations break, later ones may mend) or at the last one, or when the target has stopped gaining. Its result is
    the latest of the probed checkpoints that is not clearly worse than another one: rewards rise in most trainings, so
    that choosing the best of noisy results would often choose too early. After a loss an earlier checkpoint has to
    prove itself on further tasks.

    A mixed adapter (`is_mixed`) may get every conversation. So its other tasks may lose as much as its target gains.

    `tasks` is None where nothing is watched. State and adapters are part of each checkpoint, so that a resumed training
    repeats no probe and decides the same.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        agent: WatchedAgent | None,
        tasks: AgentTasks | None,
        why_not: str | None,
        *,
        is_mixed: bool = False,
    ):
        self._algorithm, self._agent, self._tasks, self._is_mixed = algorithm, agent, tasks, is_mixed
        self.why_not = why_not
        """Why nothing is watched, or no longer, as a sentence; None where the training is watched."""
        self.probes: list[Probe] = []
        self.ended: Ended | None = None
        self._kept: int | None = None
        self._adapters: dict[int, dict[str, torch.Tensor]] = {}
        self._next = {"calledFor": 0, "others": 0}
        # Outcomes of the base model that the job did not know, by group and place.
        self._base: dict[str, dict[int, bool]] = {"calledFor": {}, "others": {}}
        self._spent = {"rollouts": 0, "completionTokens": 0, "seconds": 0.0}
        self._notices = Notices()

    def is_due(self, iteration: int) -> bool:
        """Whether a probe follows this iteration."""
        every, last = self._algorithm.probeEvery, self._algorithm.iterations
        return self._watches and self.ended is None and (iteration % every == 0 or iteration == last)

    @property
    def _watches(self) -> bool:
        return self._tasks is not None and self.why_not is None and self._algorithm.probeEvery > 0

    @property
    def kept(self) -> int | None:
        """The iteration whose adapter is the result; 0: none is, the base model is better. None: nothing was probed."""
        if not self.probes:
            return None
        return self._choose() if self._kept is None else self._kept

    @property
    def gained(self) -> bool:
        """Whether the kept checkpoint passes more of the tasks that call for the capability, by more than chance."""
        return bool(self.kept) and clearly_better(score(self._probe_at(self.kept).calledFor, Pairs()), Score(0.0, 0.0))

    def probe(self, model: PeftModel, iteration: int, rewards: list[float], sampling: Sampling) -> dict | None:
        """Plays a probe with the model's adapter. Returns its figures for the progress line; None if it failed.

        `rewards` are the mean rewards of all iterations so far. `sampling()` publishes the model's adapter.
        """
        started = time.perf_counter()
        since = rewards[self.probes[-1].iteration if self.probes else 0 :]
        try:
            with sampling():
                called_for = self._play("calledFor", self._algorithm.probeCalledFor)
                others = self._look_for_losses()
            probe = Probe(iteration, sum(since) / len(since), called_for, others)
            self.probes.append(probe)
            self._adapters[iteration] = adapter_of(model)
            self.ended = self._reason_to_end()
            if self.ended is not None and self.ended.why == "loss":
                self._kept = self._verified(model, sampling)
        except NotHosted as error:
            self.why_not = str(error)
            if self.ended is not None:
                # The loss is certain, and no earlier checkpoint can prove itself.
                self._kept = 0
            else:
                # Probes that ended early cannot choose among the iterations that follow.
                self.probes, self._adapters = [], {}
            self._notices.warn("watch", f"no further probes: {self.why_not}")
            return None
        finally:
            self._spent["seconds"] += time.perf_counter() - started
        self._forget()
        return {"calledFor": dataclasses.asdict(probe.calledFor), "others": dataclasses.asdict(probe.others)}

    @property
    def _margin(self) -> float:
        """Largest share of the other tasks that may be lost."""
        gain = sum((probe.calledFor for probe in self.probes), Pairs()).gain if self._is_mixed else 0.0
        return max(self._algorithm.probeMargin, gain)

    def _score(self, probe: Probe) -> Score:
        return score(probe.calledFor, probe.others, 1.0 if self._is_mixed else LOSS_WEIGHT)

    @property
    def _rule(self) -> LossRule:
        algorithm = self._algorithm
        probes = -(-algorithm.iterations // max(1, algorithm.probeEvery))
        return LossRule(self._margin, probes, len(self._group("others")))

    def _look_for_losses(self) -> Pairs:
        """The other tasks of a probe: one portion, and further ones while they seem to be lost."""
        before = self.probes[-1].others if self.probes else Pairs()
        portion = min(self._algorithm.probeOthers, len(self._group("others")))
        most, pairs = min(MOST_PORTIONS * portion, len(self._group("others"))), Pairs()
        while portion:
            pairs += self._play("others", portion)
            if not self._rule.needs_more(pairs, before) or pairs.rollouts + portion > most:
                break
        return pairs

    def _reason_to_end(self) -> Ended | None:
        last, probes = self.probes[-1], self.probes
        before = probes[-2].others if len(probes) > 1 else Pairs()
        if self._rule.stops(last.others, before, is_last=last.iteration == self._algorithm.iterations):
            return Ended(last.iteration, "loss")
        width = self._algorithm.probePatience
        if len(probes) < 2 * width or last.iteration == self._algorithm.iterations or not last.calledFor.rollouts:
            return None
        now, then = probes[-width:], probes[-2 * width : -width]
        gains = [sum((one.calledFor for one in part), Pairs()).gain for part in (now, then)]
        rewards = [sum(one.reward for one in part) / width for part in (now, then)]
        stands = gains[0] <= gains[1] and rewards[0] <= rewards[1]
        return Ended(last.iteration, "no-gain") if stands else None

    def _verified(self, model: PeftModel, sampling: Sampling) -> int:
        """The latest earlier checkpoint that loses at most the margin, further other tasks included; 0: none does."""
        current = adapter_of(model)
        portion = min(self._algorithm.probeOthers, len(self._group("others")))
        try:
            for probe in reversed(self.probes[:-1]):
                if probe.iteration not in self._adapters:
                    continue
                set_peft_model_state_dict(model, self._adapters[probe.iteration])
                with sampling():
                    for _ in range(VERIFYING_PORTIONS):
                        if probe.others.rollouts + portion > len(self._group("others")):
                            break
                        probe.others += self._play("others", portion)
                        if self._rule.proves(probe.others):
                            break
                if -probe.others.gain <= self._margin and not self._worse_than_base(probe):
                    return probe.iteration
            return 0
        finally:
            set_peft_model_state_dict(model, current)

    def _worse_than_base(self, probe: Probe) -> bool:
        return clearly_better(Score(0.0, 0.0), self._score(probe))

    def _choose(self) -> int:
        """The latest checkpoint that is clearly worse neither than another one nor than the base model."""
        candidates = [probe for probe in self.probes if probe.iteration in self._adapters]
        for probe in reversed(candidates):
            better = any(clearly_better(self._score(other), self._score(probe)) for other in candidates)
            if not better and not self._worse_than_base(probe):
                return probe.iteration
        return 0

    def _forget(self) -> None:
        """Drops adapters beyond `KEPT`: the latest stay, and the one with the best score."""
        best = max(self._adapters, key=lambda one: self._score(self._probe_at(one)).value)
        for iteration in sorted(self._adapters)[: 1 - KEPT]:
            if iteration not in (best, self._kept) and len(self._adapters) > KEPT:
                del self._adapters[iteration]

    def _probe_at(self, iteration: int) -> Probe:
        return next(probe for probe in self.probes if probe.iteration == iteration)

    def _group(self, name: str) -> list[ProbeTask]:
        assert self._agent is not None
        return getattr(self._agent, name)

    def _play(self, name: str, count: int) -> Pairs:
        """Plays the next tasks of a group; after the last one the first one comes again."""
        assert self._tasks is not None
        group = self._group(name)
        places = [(self._next[name] + n) % len(group) for n in range(min(count, len(group)))]
        if not places:
            return Pairs()
        own = self._passes([group[place] for place in places], base=False)
        known = self._base[name]
        unknown = [place for place in places if group[place].basePassed is None and place not in known]
        if unknown:
            known.update(zip(unknown, self._passes([group[place] for place in unknown], base=True), strict=True))
        self._next[name] = (self._next[name] + len(places)) % len(group)
        base = [known[place] if group[place].basePassed is None else bool(group[place].basePassed) for place in places]
        return pairs_of(list(zip(own, base, strict=True)))

    def _passes(self, tasks: list[ProbeTask], base: bool) -> list[bool]:
        passed, tokens = self._tasks.play(tasks, base)
        self._spent["rollouts"] += len(tasks)
        self._spent["completionTokens"] += tokens
        return passed

    def put_into(self, model: PeftModel) -> None:
        """Gives the model the adapter that is the result. It stays unchanged where nothing was probed or kept."""
        if self.kept:
            set_peft_model_state_dict(model, self._adapters[self.kept])

    @property
    def in_manifest(self) -> dict:
        """Its fields in the manifest."""
        found: dict = {} if self.why_not is None else {"unwatched": self.why_not}
        if self.probes:
            spent = {**self._spent, "seconds": round(self._spent["seconds"], 3)}
            found["watch"] = {
                "margin": self._margin,
                "tasks": {name: len(self._group(name)) for name in self._next},
                "probes": [dataclasses.asdict(probe) for probe in self.probes],
                "ended": None if self.ended is None else dataclasses.asdict(self.ended),
                "kept": self.kept,
                **spent,
            }
        return found

    def save(self, checkpoint: Path) -> None:
        """Adds the state to a checkpoint's directory."""
        folder = checkpoint / FOLDER
        folder.mkdir()
        state = {
            "whyNot": self.why_not,
            "probes": [dataclasses.asdict(probe) for probe in self.probes],
            "ended": None if self.ended is None else dataclasses.asdict(self.ended),
            "kept": self._kept,
            "next": self._next,
            "base": {name: list(map(list, known.items())) for name, known in self._base.items()},
            "spent": self._spent,
        }
        (folder / STATE).write_text(json.dumps(state) + "\n")
        for iteration, adapter in self._adapters.items():
            save_file({name: weight.contiguous() for name, weight in adapter.items()}, folder / _file(iteration))

    def load(self, checkpoint: Path) -> None:
        """Reads what `save` wrote."""
        folder = checkpoint / FOLDER
        state = json.loads((folder / STATE).read_text())
        self.why_not = state["whyNot"] or self.why_not
        self.probes = [
            Probe(**{**probe, **{name: Pairs(**probe[name]) for name in self._next}}) for probe in state["probes"]
        ]
        self.ended = state["ended"] and Ended(**state["ended"])
        self._kept, self._next, self._spent = state["kept"], state["next"], state["spent"]
        self._base = {name: {place: passed for place, passed in known} for name, known in state["base"].items()}
        self._adapters = {
            probe.iteration: load_file(folder / _file(probe.iteration))
            for probe in self.probes
            if (folder / _file(probe.iteration)).exists()
        }


def _file(iteration: int) -> str:
    return f"iteration-{iteration:04d}.safetensors"
