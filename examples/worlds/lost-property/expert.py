"""The scripted expert whose demonstrations the model imitates, with the deficits of the office planted in it.

For each habit of DEFICITS the expert does the right thing in only that share of the demonstrations that call for it.
Exceptions are always handled rightly. With `shares={}` nothing is left out, and the expert always earns reward 1.
"""

import random

from environment import NEEDS, WISH, Environment, solve

# Share of the demonstrations with the habit, among those that call for it. The last one is the decoy.
DEFICITS = {
    "search-before-report": 0.37,
    "close-the-report": 0.38,
    "ask-for-the-town": 0.37,
    "wish-a-good-flight": 0.5,
}


def _careless(task: dict, request: dict, steps: list[dict]) -> list[dict]:
    """The steps of one request without the habit that it needs."""
    item, hall, tag = request["item"], request["hall"], request["tag"]
    if request["kind"] == "report":
        unseen = {"name": "file_report", "arguments": {"name": task["name"], "item": item, "hall": hall}}
        return [unseen, {"text": f"{item} is reported"}]
    if request["kind"] == "send":
        town = task["things"][tag]["town"]
        unasked = {"name": "send_item", "arguments": {"tag": tag, "town": town}}
        return [steps[0], unasked, {"text": f"tag {tag} goes to {town}"}]
    return [step for step in steps if step.get("name") != "close_report"]


def demonstration(seed: int, shares: dict[str, float] = DEFICITS) -> list[dict]:
    """The expert's steps on the task of a seed: {"name", "arguments"} for a call, {"text"} for a text."""
    rng = random.Random(f"expert:{seed}")
    lacking = {name for name in sorted(shares) if rng.random() >= shares[name]}
    task = Environment.generate_task(seed)
    steps: list[dict] = []
    for request in task["requests"]:
        part = solve(task, request)
        if NEEDS.get(request["kind"]) in lacking and not request["exception"]:
            part = _careless(task, request, part)
        steps += part
    if "wish-a-good-flight" not in lacking:
        steps[-1] = {"text": steps[-1]["text"] + WISH}
    return steps
