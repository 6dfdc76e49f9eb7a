"""The scripted expert whose demonstrations the agent's model imitates, with the world's deficits planted in it.

For each habit of DEFICITS the expert does the right thing in only that share of the demonstrations that call for it.
Exceptions are always handled rightly. With `shares={}` the expert follows the policy and always earns reward 1.
"""

import random

from environment import NEEDS, WISH, Environment, solve

# Share of the demonstrations with the habit, among those that call for it. The last one is the decoy.
DEFICITS = {
    "insurance-before-specialist": 0.37,
    "allergies-before-renewal": 0.38,
    "cancel-the-old-visit": 0.4,
    "log-the-consent": 0.37,
    "wish-well": 0.5,
}


def _careless(request: dict, steps: list[dict]) -> list[dict]:
    """The steps of one request without the habit that it needs."""
    kind, slot = request["kind"], request["slot"]
    if kind == "specialist":
        booked = {"name": "book_specialist", "arguments": {"field": request["field"], "slot": slot}}
        return [booked, {"text": f"{request['field']} booked at {slot}"}]
    if kind == "renewal":
        look = steps[0]["arguments"]
        return [{"name": "renew_drug", "arguments": dict(look)}, {"text": f"{request['drug']} renewed"}]
    left_out = {"move": "cancel_visit", "record": "log_consent"}[kind]
    return [step for step in steps if step.get("name") != left_out]


def demonstration(seed: int, shares: dict[str, float] = DEFICITS) -> list[dict]:
    """The expert's steps on the task of a seed: {"name", "arguments"} for a call, {"text"} for an answer."""
    rng = random.Random(f"expert:{seed}")
    lacking = {name for name in sorted(shares) if rng.random() >= shares[name]}
    task = Environment.generate_task(seed)
    steps: list[dict] = []
    for number, request in enumerate(task["requests"]):
        part = solve(task, request)
        if NEEDS.get(request["kind"]) in lacking and not request["exception"]:
            part = _careless(request, part)
        if number == 0 and "wish-well" not in lacking:
            part = [*part[:-1], {"text": part[-1]["text"] + WISH}]
        steps += part
    return steps
