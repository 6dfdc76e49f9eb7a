"""Tier: integration. The method in one file: it stays short and by itself, and each step does what it should, small."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from statistics import mean
from types import ModuleType, SimpleNamespace

import pytest
import torch
from routing_questions import routing_prompt

FILE = Path(__file__).parents[2] / "examples" / "trace_in_one_file.py"
PLANTED = {"verify-before-refund", "status-before-cancel", "credit-every-item", "append-postal-code"}


def test_is_short_and_imports_nothing_of_the_service() -> None:
    source = FILE.read_text()
    assert len(source.splitlines()) <= 300
    imported = {
        alias.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)}
    others = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
    # `recorded` reads the environments of the examples.
    assert others == {"torch", "peft", "transformers", "recorded"}


@pytest.fixture(scope="module")
def method() -> ModuleType:
    """The file as a module. The small model that it makes stays where the tests of other files find it."""
    spec = importlib.util.spec_from_file_location("trace_in_one_file", FILE)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        # Dataclasses look their module up.
        patch.setitem(sys.modules, spec.name, module)
        patch.setenv("XDG_CACHE_HOME", str(FILE.parents[1] / "node_modules" / ".cache"))
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def agent(method: ModuleType) -> tuple:
    """The small model and its tokenizer."""
    return method.make_agent(1, "tiny")


@pytest.fixture(scope="module")
def desk(method: ModuleType) -> type:
    return method.load_environment(method.DESK / "environment.py")


@pytest.fixture(scope="module")
def rollouts(method: ModuleType, agent: tuple, desk: type) -> list:
    """Two episodes of each of a hundred tasks of the desk."""
    torch.manual_seed(1)
    return method.roll_out(*agent, desk, range(100), 2)


def test_labels_are_those_of_the_desk_itself(method: ModuleType, desk: type, rollouts: list) -> None:
    differ = 0
    for rollout in rollouts:
        truth = desk.evaluate(rollout.trajectory, desk.generate_task(rollout.seed))["diagnostics"]
        differ += {name: found.lower() for name, found in method.label(rollout).items()} != truth
    assert differ <= 0.02 * len(rollouts)


def test_contrast_keeps_planted_deficits_and_no_decoy(method: ModuleType, rollouts: list) -> None:
    kept = set(method.identify(rollouts))
    assert kept <= PLANTED
    assert len(kept) >= 3


def test_training_raises_the_reward(method: ModuleType, agent: tuple, desk: type) -> None:
    cancellations = [seed for seed in range(10_000) if desk.generate_task(seed)["kind"] == "cancel"]

    class LookFirst:
        """Episodes of one turn at the desk: a cancellation, with reward 1 for reading the order first."""

        def reset(self, seed: int) -> list[dict]:
            return desk().reset(cancellations[seed % len(cancellations)])

        def step(self, call: dict) -> dict:
            return {"observation": "", "done": True}

        @staticmethod
        def generate_task(seed: int) -> dict:
            return {}

        @staticmethod
        def evaluate(trajectory: list[dict], task: dict) -> float:
            return float([entry["call"]["name"] for entry in trajectory] == ["get_order"])

    torch.manual_seed(1)
    policy, curve = method.train(*agent, LookFirst, 24)
    assert mean(curve[-6:]) - mean(curve[:6]) > 0.2
    trained = {name for name, weights in policy.named_parameters() if weights.requires_grad}
    assert trained
    assert all("lora_" in name for name in trained)


def test_all_steps_run_one_after_the_other(method: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    few = ("append-postal-code", "greet-the-customer")
    monkeypatch.setattr(method, "SUMMARIES", {name: method.SUMMARIES[name] for name in few})
    # A few tasks say little about how hard an environment is.
    monkeypatch.setattr(method, "LEAST_REWARD", 0.0)
    monkeypatch.setattr(method, "MOST_REWARD", 0.9)
    kept, curves, verdict = method.trace(1, "tiny", 100, calibration_tasks=4, iterations=2, held_out_tasks=20)
    assert kept == ["append-postal-code"]
    assert list(curves) == kept
    assert len(curves["append-postal-code"]) == 2
    assert verdict["low"] <= verdict["routed"] - verdict["base"] <= verdict["high"]


def test_the_router_asks_what_the_model_was_taught_and_takes_the_likeliest_letter(
    method: ModuleType, agent: tuple
) -> None:
    _, tokenizer = agent
    asked = []

    def model_that_says(letter: str):
        logits = torch.zeros(1, 1, len(tokenizer))
        logits[..., tokenizer.convert_tokens_to_ids(letter)] = 1.0
        # What is no letter of the menu does not count.
        logits[..., tokenizer.convert_tokens_to_ids("Z")] = 2.0
        return lambda ids: asked.append(tokenizer.decode(ids[0])) or SimpleNamespace(logits=logits)

    question, _ = routing_prompt("refund order 41", sorted(method.SUMMARIES[name] for name in PLANTED))
    wanted = [*sorted(PLANTED, key=method.SUMMARIES.get), None]
    for letter, name in zip("ABCDE", wanted, strict=True):
        assert method.route(model_that_says(letter), tokenizer, "refund order 41", PLANTED) == name
    assert set(asked) == {f"<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"}


def test_the_loss_makes_the_better_rollout_likelier(method: ModuleType, agent: tuple, rollouts: list) -> None:
    base, _ = agent
    policy = method.get_peft_model(method.copy.deepcopy(base), method.LORA)
    pair = rollouts[:1] + rollouts[2:3]
    own = [torch.tensor(rollout.own[1:]) for rollout in pair]

    def likelihoods() -> list[float]:
        with torch.no_grad():
            rows = method.token_logprobs(policy, pair)
        return [row[: len(mask)][mask].mean().item() for row, mask in zip(rows, own, strict=True)]

    assert method.grpo_loss(policy, base, pair, torch.zeros(2)).item() == pytest.approx(0, abs=1e-6)
    before = likelihoods()
    loss = method.grpo_loss(policy, base, pair, torch.tensor([1.0, -1.0]))
    assert loss.item() == pytest.approx(0, abs=1e-5)  # At ratio 1 it is the mean advantage; the slope is what counts.
    loss.backward()
    torch.optim.SGD(policy.parameters(), lr=0.01).step()
    after = likelihoods()
    assert after[0] > before[0]
    assert after[1] < before[1]


def test_the_interval_is_paired(method: ModuleType) -> None:
    def arm(rewards: list[float]) -> list:
        return [method.Rollout(place // 2, "", [], [], [], reward) for place, reward in enumerate(rewards)]

    torch.manual_seed(1)
    base = arm([1.0, 1.0, 0.0, 0.0] * 50)
    better = arm([1.0, 1.0, 1.0, 0.0] * 50)
    verdict = method.judge(base, better)
    assert (verdict["base"], verdict["routed"]) == (50.0, 75.0)
    assert 19 < verdict["low"] < 22 < 28 < verdict["high"] < 31
    same = method.judge(base, base)
    assert same["low"] == same["high"] == 0
