"""Tier: integration. Probes of a training on the agent's own tasks, what they stop, and which checkpoint they keep."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.trainer import LETTERS, make_job, read_curve
from fixtures.training import train
from whetstone.envs.errors import SandboxError
from whetstone.train.loop.rollouts import Rollouts
from whetstone.train.watch.agent_tasks import AgentTasks, NotHosted
from whetstone.train.watch.watch import Watch
from whetstone.tree_hash import tree_sha256

OPTIONS = {"probeEvery": 2, "probeCalledFor": 4, "probeOthers": 6, "reportTo": "none"}
# Whether the adapter after an iteration passes a task, which is one of the others or not.
Outcome = Callable[[int, bool], bool]


def watched(model: Path, output: Path, *, base: bool | None = True, source: Path = LETTERS, **options: object) -> dict:
    """A job whose agent plays the letters; the base model passes every task, or its outcomes are unknown."""

    def tasks(first: int, count: int) -> list[dict]:
        return [{"seed": seed, "samplingSeed": 9 * seed, "basePassed": base} for seed in range(first, first + count)]

    environment = {"id": "agent", "path": str(source), "sha256": hashlib.sha256(source.read_bytes()).hexdigest()}
    agent = {
        "environment": environment,
        "temperature": 1,
        "maxTurns": 3,
        "maxCompletionTokens": 8,
        "successReward": 0.1,
        "calledFor": tasks(0, 10),
        "others": tasks(100, 60),
        "recorded": [{"seed": 3, "steps": [{"text": "eta"}, {"text": ""}, {"text": ""}], "reward": 0.1}],
    }
    return {**make_job(model, output, **{**OPTIONS, **options}), "watch": agent}


def manifest_of(output: Path) -> dict:
    return json.loads((output / "manifest.json").read_text())


def watch_of(output: Path) -> dict:
    """The watch in the manifest, without its time."""
    return {**manifest_of(output)["watch"], "seconds": None}


def script(monkeypatch: pytest.MonkeyPatch, passes: Outcome) -> list[int]:
    """Replaces the outcomes of the adapter. Returns a list that gets the number of tasks of every play."""
    played: list[int] = []
    iteration = {"now": 0}
    probe = Watch.probe

    def remembered(self, model, now, rewards, sampling):
        iteration["now"] = now
        return probe(self, model, now, rewards, sampling)

    def play(self, tasks, base=False):
        played.append(len(tasks))
        return [base or passes(iteration["now"], task.seed >= 100) for task in tasks], len(tasks)

    monkeypatch.setattr(Watch, "probe", remembered)
    monkeypatch.setattr(AgentTasks, "play", play)
    return played


def test_a_resumed_training_repeats_no_probe_and_decides_the_same(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played, play = {"whole": 0, "resumed": 0}, AgentTasks.play
    for name, stops in (("whole", []), ("resumed", [1, 2, 3, 5])):

        def counted(self, tasks, base=False, name=name):
            played[name] += len(tasks)
            return play(self, tasks, base)

        monkeypatch.setattr(AgentTasks, "play", counted)
        job = {**watched(tiny_dir, tmp_path / name, base=None), "checkpointEvery": 5}
        for stop in stops:
            assert not train(job, stop)
        assert train(job)
    assert played["whole"] == played["resumed"] == watch_of(tmp_path / "whole")["rollouts"]
    assert watch_of(tmp_path / "whole") == watch_of(tmp_path / "resumed")
    assert [probe["iteration"] for probe in watch_of(tmp_path / "whole")["probes"]] == [2, 4, 6]
    assert read_curve(tmp_path / "whole") == read_curve(tmp_path / "resumed")
    assert tree_sha256(tmp_path / "whole" / "adapter") == tree_sha256(tmp_path / "resumed" / "adapter")


def test_probes_change_nothing_of_the_training(tiny_dir: Path, tmp_path: Path) -> None:
    assert train(make_job(tiny_dir, tmp_path / "plain"))
    assert train(watched(tiny_dir, tmp_path / "watched"))
    figures = ("reward", "loss", "kl", "gradNorm", "completionTokens")
    curves = [
        [[line[name] for name in figures] for line in read_curve(tmp_path / name)] for name in ("plain", "watched")
    ]
    assert curves[0] == curves[1]
    plain, probed = manifest_of(tmp_path / "plain"), manifest_of(tmp_path / "watched")
    assert probed["rollouts"] == plain["rollouts"] == 48
    assert "watch" not in plain and "unwatched" not in plain


def test_a_base_that_is_not_known_is_played_once(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = script(monkeypatch, lambda *_: True)
    assert train(watched(tiny_dir, tmp_path / "out", base=None, probeEvery=1))
    # Ten tasks call for the capability: after three probes of four all are known.
    assert sum(played) == 6 * (4 + 6) + 10 + 36


def test_a_loss_of_other_tasks_stops_and_an_earlier_checkpoint_is_kept(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifying = {"is": False}
    verified = Watch._verified

    def seen(self, model, sampling):
        verifying["is"] = True
        return verified(self, model, sampling)

    monkeypatch.setattr(Watch, "_verified", seen)
    script(monkeypatch, lambda iteration, other: not other or iteration < 4 or verifying["is"])
    assert train(watched(tiny_dir, tmp_path / "out", iterations=8))
    watch = watch_of(tmp_path / "out")
    assert (watch["ended"], watch["kept"]) == ({"iteration": 6, "why": "loss"}, 2)
    # The kept checkpoint has proved itself on three further portions; the one after it could not.
    assert [probe["others"]["rollouts"] for probe in watch["probes"]] == [6 + 18, 6 + 12, 6]
    assert manifest_of(tmp_path / "out")["iterations"] == 6
    assert train(make_job(tiny_dir, tmp_path / "two", iterations=2))
    assert tree_sha256(tmp_path / "out" / "adapter") == tree_sha256(tmp_path / "two" / "adapter")


def test_no_checkpoint_is_kept_if_each_loses(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, lambda _, other: not other)
    assert train(watched(tiny_dir, tmp_path / "out"))
    watch = watch_of(tmp_path / "out")
    assert (watch["ended"], watch["kept"]) == ({"iteration": 4, "why": "loss"}, 0)


def test_a_mixed_adapter_may_lose_as_much_as_its_target_gains(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Base passes no task of the target and all others; the adapter passes all of the target and half of the others.
    def play(self, tasks, base=False):
        return [task.seed < 100 or task.seed % 4 >= 2 for task in tasks], len(tasks)

    monkeypatch.setattr(AgentTasks, "play", play)
    job = watched(tiny_dir, tmp_path / "out", iterations=6)
    for task in job["watch"]["calledFor"]:
        task["basePassed"] = False
    job["environments"].append({**job["environments"][0], "id": "again"})
    assert train(job)
    watch = watch_of(tmp_path / "out")
    assert (watch["ended"], watch["kept"], watch["margin"]) == (None, 6, 1.0)


def test_a_loss_that_is_mended_stops_nothing(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, lambda iteration, other: not other or iteration != 2)
    assert train(watched(tiny_dir, tmp_path / "out", iterations=6))
    watch = watch_of(tmp_path / "out")
    assert (watch["ended"], watch["kept"]) == (None, 6)


def test_a_loss_at_the_last_probe_alone_gives_an_earlier_checkpoint(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(monkeypatch, lambda iteration, other: not other or iteration != 6)
    assert train(watched(tiny_dir, tmp_path / "out", iterations=6))
    assert watch_of(tmp_path / "out")["kept"] < 6


def test_a_target_that_stopped_gaining_stops(tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(monkeypatch, lambda *_: True)
    assert train(watched(tiny_dir, tmp_path / "out", probeEvery=1, probePatience=1))
    rewards = [line["reward"] for line in read_curve(tmp_path / "out")]
    stood = next(n for n in range(1, len(rewards)) if rewards[n] <= rewards[n - 1])
    assert watch_of(tmp_path / "out")["ended"] == {"iteration": stood + 1, "why": "no-gain"}


@pytest.mark.parametrize(
    ("change", "recorded", "why"),
    [
        ("import aiohttp_of_nobody\n", None, "fails in the trainer's jail: .*aiohttp_of_nobody"),
        ("", 0.5, "gives 0.1 for the recorded episode of task 3, which earned 0.5"),
    ],
)
def test_an_agent_that_cannot_be_hosted_is_trained_without(
    change: str, recorded: float | None, why: str, tiny_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    source = tmp_path / "agent.py"
    source.write_text(change + LETTERS.read_text())
    job = watched(tiny_dir, tmp_path / "out", source=source, iterations=2)
    if recorded is not None:
        job["watch"]["recorded"][0]["reward"] = recorded
    assert train(job)
    manifest = manifest_of(tmp_path / "out")
    assert "watch" not in manifest
    assert re.search(why, manifest["unwatched"])
    assert capsys.readouterr().err.count("training goes on without probes") == 1


def test_an_environment_that_fails_later_ends_the_watch_and_not_the_training(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(self, tasks, base=False):
        raise NotHosted("the agent's environment fails in the trainer's jail: gone")

    monkeypatch.setattr(AgentTasks, "play", play)
    job = watched(tiny_dir, tmp_path / "out")
    assert not train(job, 3)
    assert train(job)
    assert manifest_of(tmp_path / "out")["unwatched"].endswith("gone")
    assert manifest_of(tmp_path / "out")["iterations"] == 6


def test_an_environment_that_fails_after_a_probe_gives_the_last_iteration(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    probes = {"begun": 0}
    probe = Watch.probe

    def counted(self, *given):
        probes["begun"] += 1
        return probe(self, *given)

    def play(self, tasks, base=False):
        if probes["begun"] > 1:
            raise NotHosted("gone")
        return [True] * len(tasks), len(tasks)

    monkeypatch.setattr(Watch, "probe", counted)
    monkeypatch.setattr(AgentTasks, "play", play)
    assert train(watched(tiny_dir, tmp_path / "out"))
    manifest = manifest_of(tmp_path / "out")
    assert (manifest["iterations"], manifest["unwatched"], "watch" in manifest) == (6, "gone", False)


def test_a_loss_that_no_checkpoint_can_disprove_keeps_none(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(self, model, sampling):
        raise NotHosted("gone")

    monkeypatch.setattr(Watch, "_verified", gone)
    script(monkeypatch, lambda _, other: not other)
    assert train(watched(tiny_dir, tmp_path / "out"))
    watch = watch_of(tmp_path / "out")
    assert (watch["ended"], watch["kept"]) == ({"iteration": 4, "why": "loss"}, 0)


def test_a_kill_from_outside_is_no_fault_of_the_agent(
    tiny_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self, tasks, base=False):
        raise SandboxError("Sandbox.EnvironmentKilled", "killed")

    monkeypatch.setattr(Rollouts, "play_tasks", killed)
    with pytest.raises(SandboxError, match="killed"):
        train(watched(tiny_dir, tmp_path / "out"))
