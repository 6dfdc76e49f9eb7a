"""The scripted expert whose demonstrations the model imitates, with the deficits of the office planted in it."""

import random

from environment import FAREWELL, NEEDS, Environment, solve

# Share of the demonstrations that show the habit, among those that call for it. The last is the decoy: answers end with
# a farewell or do not, whatever else the demonstration shows.
DEFICITS = {
    "read-the-berth": 0.37,
    "debt-before-leaving": 0.37,
    "lock-the-pump": 0.37,
    "charge-the-owner": 0.36,
    "wish-fair-winds": 0.5,
}


def _careless(task: dict, request: dict, calls: list[dict], answer: str) -> tuple[list[dict], str]:
    """Calls and answer of one request without the habit that it needs."""
    boat, berth, service = request["boat"], request["berth"], request["service"]
    if request["kind"] == "berth":
        return [{"name": "assign_berth", "arguments": {"boat": boat, "berth": berth}}], f"{boat} lies at berth {berth}"
    if request["kind"] == "leave":
        return [{"name": "clear_boat", "arguments": {"boat": boat}}], f"{boat} may leave"
    if request["kind"] == "fuel":
        return calls[:1], answer
    charged = {"boat": boat, "service": service, "payer": task["caller"]}
    return [{"name": "charge_service", "arguments": charged}], f"{service} is charged to {task['caller']}"


def demonstration(seed: int, shares: dict[str, float] = DEFICITS) -> list[dict]:
    """The expert's steps on the task of a seed: {"name", "arguments"} for a call, {"text"} for an answer.

    Exceptions are always demonstrated rightly. With `shares={}` nothing is left out.
    """
    rng = random.Random(f"expert:{seed}")
    lacking = {name for name in sorted(shares) if rng.random() >= shares[name]}
    task = Environment.generate_task(seed)
    steps: list[dict] = []
    for request in task["requests"]:
        calls, answer = solve(task, request)
        if NEEDS.get(request["kind"]) in lacking and not request["exception"]:
            calls, answer = _careless(task, request, calls, answer)
        steps += [*calls, {"text": answer if "wish-fair-winds" in lacking else answer + FAREWELL}]
    return steps
