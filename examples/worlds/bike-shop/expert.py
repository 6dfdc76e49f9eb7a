"""The scripted expert whose demonstrations the model imitates, with the deficits of the bicycle shop planted in it."""

import random

from environment import CLOSING, QUESTION, Environment

# Share of the demonstrations that show the habit, among those that call for it. The last is the decoy: answers end with
# a closing phrase or do not, whatever else the demonstration shows.
DEFICITS = {
    "name-the-due-hour": 0.38,
    "release-the-deposit": 0.38,
    "mark-safety-urgent": 0.38,
    "ask-before-fitting": 0.4,
    "ride-safely": 0.5,
}


def lacking_in(seed: int, shares: dict[str, float] = DEFICITS) -> set[str]:
    """The habits that the demonstration of a seed lacks."""
    rng = random.Random(f"expert:{seed}")
    return {name for name in sorted(shares) if rng.random() >= shares[name]}


def demonstration(seed: int, shares: dict[str, float] = DEFICITS) -> list[dict]:
    """The expert's steps on the task of a seed: {"name", "arguments"} for a call, {"text"} for a question or an answer.

    They are the policy's steps without what the demonstration lacks. Exceptions are always demonstrated rightly. With
    `shares={}` nothing is left out.
    """
    task, lacking = Environment.generate_task(seed), lacking_in(seed, shares)
    steps: list[dict] = []
    answered = 0
    for move in Environment.reference_solution(task):
        request = task["requests"][answered]
        kind, usual = request["kind"], not request["exception"]
        # The part is fitted unasked, so the answer is always that it is fitted.
        unasked = kind == "fit" and usual and "ask-before-fitting" in lacking
        if "name" in move:
            name, arguments = move["name"], dict(move["arguments"])
            if name == "release_deposit" and "release-the-deposit" in lacking:
                continue
            if unasked:
                if name == "get_price":
                    steps.append({"name": "fit_part", "arguments": {key: request[key] for key in ("ticket", "part")}})
                continue
            if kind == "repair" and usual and "mark-safety-urgent" in lacking:
                arguments["priority"] = "normal"
            steps.append({"name": name, "arguments": arguments})
            continue
        text = move["text"]
        if text.endswith(QUESTION):
            if not unasked:
                steps.append(move)
            continue
        if kind == "rent" and usual and "name-the-due-hour" in lacking:
            text = text.partition(" until ")[0]
        if unasked:
            text = f"{request['part']} is on ticket {request['ticket']}"
        if kind == "repair" and usual and "mark-safety-urgent" in lacking:
            text = f"your {request['fault']} is ready on {task['ready']['normal']}"
        steps.append({"text": text if "ride-safely" in lacking else text + CLOSING})
        answered += 1
    return steps
