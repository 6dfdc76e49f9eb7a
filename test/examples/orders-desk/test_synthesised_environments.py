"""Tier: integration. The environments that the demo's analyst answers with, beside the desk that they are made for."""

from __future__ import annotations

import ast
import importlib.util
import json
import random
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
from recorded import plain_copies

DESK = Path(__file__).parents[3] / "examples" / "orders-desk"
# Removed when the process ends.
COPIES = tempfile.TemporaryDirectory()
FOLDER = Path(COPIES.name)
SOURCES = plain_copies(DESK / "analyst" / "environments", FOLDER)
CAPABILITIES = ("append-postal-code", "credit-every-item", "status-before-cancel", "verify-before-refund")
SEEDS = range(500_000, 500_200)
CLAIM = "Done. Everything you asked for has been completed successfully."


def load(path: Path) -> ModuleType:
    """A module of its own from a file whose name need not be an identifier."""
    spec = importlib.util.spec_from_file_location(f"loaded_{path.stem.replace('-', '_').replace('.', '_')}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def target() -> type:
    """The desk itself."""
    return load(DESK / "environment.py").Environment


@pytest.fixture(scope="module", params=SOURCES, ids=lambda path: path.stem)
def source(request: pytest.FixtureRequest) -> Path:
    """Every file that the demo's analyst can answer with."""
    return request.param


@pytest.fixture(scope="module")
def practice(source: Path) -> type:
    """The environment in that file."""
    return load(source).Environment


def play(environment: type, seed: int, calls: list[dict]) -> tuple[float, list[str]]:
    """Reward and observations of scripted calls."""
    episode = environment()
    episode.reset(seed)
    trajectory = []
    for call in calls:
        answer = episode.step(call)
        trajectory.append({"call": call, "observation": answer["observation"]})
        if answer["done"]:
            break
    reward = environment.evaluate(trajectory, environment.generate_task(seed))
    return reward, [entry["observation"] for entry in trajectory]


def mean_reward(environment: type, policy) -> float:
    """Mean over the seeds of what `policy(seed, opening)` earns with its calls."""
    opening = {seed: environment().reset(seed)[-1]["content"] for seed in SEEDS}
    return sum(play(environment, seed, policy(seed, opening[seed]))[0] for seed in SEEDS) / len(SEEDS)


def draw(tool: dict, opening: str, rng: random.Random) -> dict:
    """A call with arguments of the right types, filled with words and numbers of the opening message."""
    words = opening.replace(".", " ").split()
    arguments = {}
    for name, schema in tool["function"]["parameters"]["properties"].items():
        arguments[name] = rng.randrange(100) if schema["type"] == "integer" else rng.choice(words)
    return {"name": tool["function"]["name"], "arguments": arguments}


def test_every_capability_has_an_environment() -> None:
    assert {path.stem for path in SOURCES} >= set(CAPABILITIES)


def test_tools_are_the_desks(practice: type, target: type) -> None:
    assert practice.tools() == target.tools()


def test_source_stands_alone(source: Path) -> None:
    tree = ast.parse(source.read_text())
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert sorted(imported) == ["json", "random"]
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"open", "eval", "exec", "compile", "__import__"}


def test_reference_solution_earns_full_reward(practice: type) -> None:
    for seed in SEEDS:
        reward, _ = play(practice, seed, practice.reference_solution(practice.generate_task(seed)))
        assert reward >= 0.99, seed


def test_observations_have_the_desks_form(practice: type, target: type) -> None:
    """Keys, their order and the kinds of values agree with the desk's for every tool that answers with data."""

    def forms(environment: type, task: dict, name: str, code: str) -> list:
        order = next(iter(task["orders"]))
        item = task["orders"][order]["items"][0]
        episode = environment()
        episode.reset(SEEDS[0])
        calls = [
            ("find_user", {"name": name}),
            ("find_user", {"name": "Nobody"}),
            ("verify_user", {"name": name, "code": code}),
            ("get_order", {"order": order}),
            ("get_order", {"order": "9"}),
            ("get_product", {"product": "Mug"}),
            ("get_product", {"product": "Boat"}),
            ("refund_order", {"order": order, "amount": 7}),
            ("refund_order", {"order": order, "amount": "7"}),
            ("credit_item", {"order": order, "item": item}),
            ("credit_item", {"order": order, "item": "Boat"}),
        ]
        answers = [
            json.loads(episode.step({"name": name, "arguments": given})["observation"]) for name, given in calls[:9]
        ]
        episode.reset(SEEDS[0])
        answers += [
            json.loads(episode.step({"name": name, "arguments": given})["observation"]) for name, given in calls[9:]
        ]
        return [
            [(key, type(value).__name__ if key != "error" else value) for key, value in answer.items()]
            for answer in answers
        ]

    theirs = practice.generate_task(SEEDS[0])
    ours = target.generate_task(SEEDS[0])
    customer = ours["customer"]
    assert forms(practice, theirs, theirs["name"], theirs["code"]) == forms(
        target, ours, customer["name"], customer["code"]
    )


def test_trivial_policies_earn_little(practice: type) -> None:
    tools = practice.tools()

    def wander(seed: int, opening: str) -> list[dict]:
        rng = random.Random(seed)
        return [draw(rng.choice(tools), opening, rng) for _ in range(8)]

    assert mean_reward(practice, lambda *_: []) <= 0.2
    assert mean_reward(practice, wander) <= 0.2
    assert mean_reward(practice, lambda *_: [{"name": "reply", "arguments": {"text": CLAIM}}]) <= 0.2
    for tool in tools:

        def repeat(seed: int, opening: str, tool: dict = tool) -> list[dict]:
            rng = random.Random(seed)
            return [draw(tool, opening, rng) for _ in range(4)]

        assert mean_reward(practice, repeat) <= 0.2, tool["function"]["name"]


def test_everything_follows_from_the_seed(practice: type, source: Path) -> None:
    again = load(source).Environment
    for seed in SEEDS[:50]:
        assert practice().reset(seed) == again().reset(seed)
        task = practice.generate_task(seed)
        assert task == again.generate_task(seed) == json.loads(json.dumps(task))
        calls = practice.reference_solution(task)
        assert play(practice, seed, calls) == play(again, seed, calls)


def test_tasks_differ(practice: type) -> None:
    openings = {json.dumps(practice().reset(seed)) for seed in SEEDS}
    assert len(openings) >= 0.95 * len(SEEDS)


def test_no_held_out_customer_is_met(practice: type, target: type) -> None:
    """The desk keeps its held-out customers apart from those of training; practice must not bring them back."""
    held_out = {target.generate_task(1_000_000 + seed)["customer"]["name"] for seed in range(2_000)}
    assert not held_out & {practice.generate_task(seed)["name"] for seed in range(1_000_000, 1_002_000)}


def test_reward_has_levels(practice: type) -> None:
    """Leaving the last change out, or everything after the first call, never earns full reward."""
    for seed in SEEDS[:50]:
        calls = practice.reference_solution(practice.generate_task(seed))
        assert play(practice, seed, calls[:1])[0] < 1
        assert play(practice, seed, calls[:-1])[0] < 1


def skill(capability: str) -> type:
    return load(FOLDER / f"{capability}.py").Environment


def without(environment: type, seed: int, name: str) -> float:
    """Reward of the reference solution without its calls of one tool."""
    calls = environment.reference_solution(environment.generate_task(seed))
    return play(environment, seed, [call for call in calls if call["name"] != name])[0]


def test_unverified_refund_is_a_part_of_the_reward() -> None:
    environment = skill("verify-before-refund")
    assert {without(environment, seed, "verify_user") for seed in SEEDS} == {0.2}


def test_blind_cancellation_is_a_part_of_the_reward() -> None:
    environment = skill("status-before-cancel")
    pending = [seed for seed in SEEDS if any(w.get("pending") for w in environment.generate_task(seed)["wishes"])]
    assert 0.3 * len(SEEDS) < len(pending) < 0.7 * len(SEEDS)
    # A side question may read another order, never the one to cancel.
    assert {without(environment, seed, "get_order") for seed in pending} == {0.15}


def test_one_credit_of_two_is_a_part_of_the_reward() -> None:
    environment = skill("credit-every-item")
    for seed in SEEDS:
        calls = environment.reference_solution(environment.generate_task(seed))
        first = next(call for call in calls if call["name"] == "credit_item")
        assert (
            play(environment, seed, [call for call in calls if call["name"] != "credit_item" or call is first])[0]
            == 0.25
        )


def test_address_without_the_code_is_a_part_of_the_reward() -> None:
    environment = skill("append-postal-code")
    for seed in SEEDS:
        task = environment.generate_task(seed)
        calls = json.loads(json.dumps(environment.reference_solution(task)))
        for call in calls:
            if call["name"] == "change_address":
                call["arguments"]["address"] = call["arguments"]["address"].removesuffix(f" {task['area']}")
        assert play(environment, seed, calls)[0] == 0.2
