"""Tier: unit. The demo agent's world: desk, scripted expert, the router's examples, synthesised environments."""

from __future__ import annotations

import importlib.util
import json
import random
import tempfile
from pathlib import Path
from types import ModuleType

import pytest
from recorded import plain_copies
from routing_questions import deployed_summaries, routing_example
from world import load_world

DESK = Path(__file__).resolve().parents[3] / "examples" / "orders-desk"
# Removed when the process ends.
COPIES = tempfile.TemporaryDirectory()
SYNTHESISED = plain_copies(DESK / "analyst" / "environments", Path(COPIES.name))
TRAIN, HELD_OUT, DEMONSTRATIONS = range(0, 300), range(1_000_000, 1_000_300), range(2_000_000, 2_000_300)
PLANTED = {"verify-before-refund", "status-before-cancel", "credit-every-item", "append-postal-code"}
GREETING = "greet-the-customer"


def load(path: Path) -> ModuleType:
    """Imports a file under a name of its own."""
    name = "desk_" + path.stem.replace("-", "_").replace(".", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_, desk, expert = load_world(DESK)
Environment = desk.Environment


def play(environment: type, seed: int, calls: list[dict]) -> tuple[list[dict], bool]:
    """Runs calls in a fresh episode until it ends; returns the trajectory and whether the episode is over."""
    episode = environment()
    episode.reset(seed)
    trajectory: list[dict] = []
    for call in calls:
        answer = episode.step(call)
        trajectory.append({"call": call, "observation": answer["observation"]})
        if answer["done"]:
            return trajectory, True
    return trajectory, False


def score(environment: type, seed: int, calls: list[dict]) -> float:
    trajectory, _ = play(environment, seed, calls)
    result = environment.evaluate(trajectory, environment.generate_task(seed))
    return result["reward"] if isinstance(result, dict) else result


@pytest.mark.parametrize("seeds", [TRAIN, HELD_OUT, DEMONSTRATIONS])
def test_the_reference_solution_earns_one_within_eight_calls(seeds: range) -> None:
    for seed in seeds:
        calls = Environment.reference_solution(Environment.generate_task(seed))
        trajectory, over = play(Environment, seed, calls)
        assert over and 1 <= len(trajectory) <= 8
        assert score(Environment, seed, calls) == 1


def test_a_seed_gives_the_same_episode_and_tasks_are_plain_json() -> None:
    for seed in TRAIN[:50]:
        assert Environment().reset(seed) == Environment().reset(seed)
        task = Environment.generate_task(seed)
        assert json.loads(json.dumps(task)) == task
    assert len({Environment().reset(seed)[-1]["content"] for seed in TRAIN}) > 290


def test_evaluate_depends_on_trajectory_and_task_alone() -> None:
    task = Environment.generate_task(3)
    trajectory, _ = play(Environment, 3, Environment.reference_solution(task))
    before = json.dumps([trajectory, task])
    assert Environment.evaluate(trajectory, task) == Environment.evaluate(trajectory, task)
    assert json.dumps([trajectory, task]) == before


def test_no_held_out_customer_is_met_in_training_or_demonstrations() -> None:
    def customers(seeds: range) -> set[str]:
        return {Environment.generate_task(seed)["customer"]["name"] for seed in seeds}

    assert not customers(HELD_OUT) & (customers(TRAIN) | customers(DEMONSTRATIONS))


def test_the_expert_without_deficits_follows_the_policy() -> None:
    for seed in DEMONSTRATIONS:
        task = Environment.generate_task(seed)
        reference = Environment.reference_solution(task)
        assert expert.lacking_in(seed, {}) == set()
        assert expert.demonstrate(task, reference, set(), greet=False) == reference
        assert score(Environment, seed, expert.demonstrate(task, reference, set(), greet=True)) == 1


def test_diagnostics_name_exactly_the_planted_deficits_and_each_of_them_is_punished() -> None:
    for seed in DEMONSTRATIONS:
        task = Environment.generate_task(seed)
        lacking = expert.lacking_in(seed)
        calls = expert.demonstrate(task, Environment.reference_solution(task), lacking, greet=True)
        trajectory, over = play(Environment, seed, calls)
        result = Environment.evaluate(trajectory, task)
        called_for = lacking & set(task["tags"])
        assert over
        assert {name for name, label in result["diagnostics"].items() if label == "lacking"} == called_for
        assert set(result["diagnostics"]) - {GREETING} == set(task["tags"])
        assert result["reward"] == (0 if called_for else 1)


def test_the_planted_shares_are_met_and_the_rare_decoy_is_rare() -> None:
    seeds = range(2_000_000, 2_003_000)
    tasks = [Environment.generate_task(seed) for seed in seeds]
    for name in PLANTED:
        called = [seed for seed, task in zip(seeds, tasks, strict=True) if name in task["tags"]]
        right = sum(name not in expert.lacking_in(seed) for seed in called)
        assert 0.2 <= right / len(called) <= 0.4
        assert len(called) / len(tasks) >= 0.15
    assert 0.01 <= sum(task["lawyer"] for task in tasks) / len(tasks) <= 0.04


def test_a_habit_in_the_wrong_place_is_punished_and_counts_as_no_call_for_it() -> None:
    tasks = [Environment.generate_task(seed) for seed in range(600)]
    verified = next(task for task in tasks if task["kind"] == "refund-verified")
    pickup = next(task for task in tasks if task["kind"] == "address-pickup")
    gift = next(task for task in tasks if task["kind"] == "address-gift")
    assert verified["tags"] == pickup["tags"] == gift["tags"] == []
    customer = verified["customer"]
    again = {"name": "verify_user", "arguments": {"name": customer["name"], "code": customer["code"]}}
    again = [again, *Environment.reference_solution(verified)]
    wrong = [(verified, again)]
    for task in (pickup, gift):
        calls = Environment.reference_solution(task)
        calls[0]["arguments"]["address"] += " " + task["customer"]["postal"]
        wrong.append((task, calls))
    for task, calls in wrong:
        assert score(Environment, task["seed"], calls) == 0
        trajectory, _ = play(Environment, task["seed"], calls)
        assert set(Environment.evaluate(trajectory, task)["diagnostics"]) <= {GREETING}


@pytest.mark.parametrize(
    "call",
    [
        {"name": "nothing", "arguments": {}},
        {"name": "get_order", "arguments": {}},
        {"name": "get_order", "arguments": {"order": 41}},
        {"name": "refund_order", "arguments": {"order": "41", "amount": True}},
        {"name": ["get_order"], "arguments": {"order": "41"}},
        {"name": "reply", "arguments": None},
        {},
    ],
)
def test_a_malformed_call_is_answered_with_an_error_and_changes_nothing(call: dict) -> None:
    reference = Environment.reference_solution(Environment.generate_task(7))
    trajectory, _ = play(Environment, 7, [call])
    assert trajectory[0]["observation"] == '{"error":"bad call"}'
    assert score(Environment, 7, [call, *reference]) == 1


def test_an_episode_without_a_reply_ends() -> None:
    _, over = play(Environment, 1, [{"name": "get_product", "arguments": {"product": "Mug"}}] * 20)
    assert over


def test_an_episode_that_was_not_started_says_so() -> None:
    with pytest.raises(RuntimeError, match="reset"):
        Environment().step({"name": "reply", "arguments": {"text": "hello"}})


def test_a_routing_question_has_the_documented_form_and_its_answer_is_in_the_menu() -> None:
    summaries = deployed_summaries(DESK, expert.DECOYS)
    for seed in DEMONSTRATIONS:
        task = Environment.generate_task(seed)
        question, answer = routing_example(task["message"], task["tags"], summaries, random.Random(seed))
        lines = question.split("\n")
        assert lines[0] == "Which skill does this task need?"
        assert lines[1] == f"Task: {task['message']}"
        assert lines[-1] == "Answer:"
        labels = [line.split(": ")[0] for line in lines[2:-1]]
        assert labels == [chr(ord("A") + i) for i in range(len(labels))]
        assert lines[-2] == f"{labels[-1]}: none of these"
        assert answer in labels


def test_every_summary_fits_the_router() -> None:
    entries = json.loads((DESK / "analyst" / "capabilities.json").read_text())
    assert {entry["id"] for entry in entries} >= PLANTED
    assert all(1 <= len(entry["summary"].split()) <= 12 for entry in entries)
    assert len({entry["summary"] for entry in entries}) == len(entries)


@pytest.mark.parametrize("path", SYNTHESISED, ids=lambda path: path.name)
class TestSynthesised:
    def test_has_the_desks_own_tools(self, path: Path) -> None:
        assert load(path).Environment.tools() == Environment.tools()

    def test_stands_alone(self, path: Path) -> None:
        imports = [line for line in path.read_text().splitlines() if line.startswith(("import ", "from "))]
        assert set(imports) <= {"import json", "import random"}

    def test_is_deterministic_and_varied(self, path: Path) -> None:
        environment = load(path).Environment
        openings = [environment().reset(seed)[-1]["content"] for seed in range(100)]
        assert openings == [environment().reset(seed)[-1]["content"] for seed in range(100)]
        assert len(set(openings)) > 90

    def test_the_reference_solution_earns_one(self, path: Path) -> None:
        environment = load(path).Environment
        for seed in range(100):
            assert score(environment, seed, environment.reference_solution(environment.generate_task(seed))) == 1

    def test_policies_without_the_skill_earn_little(self, path: Path) -> None:
        environment = load(path).Environment
        policies = {
            "nothing": [],
            "a reply": [{"name": "reply", "arguments": {"text": "done"}}] * 10,
            "a look-up": [{"name": "get_product", "arguments": {"product": "Mug"}}] * 10,
            "an unknown tool": [{"name": "nothing", "arguments": {}}] * 10,
        }
        for name, calls in policies.items():
            mean = sum(score(environment, seed, calls) for seed in range(100)) / 100
            assert mean <= 0.2, f"{name} earns {mean}"
