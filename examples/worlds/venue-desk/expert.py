"""The scripted expert whose demonstrations the model imitates, with the deficits of the venue desk planted in it."""

import random

from environment import SAY, SIGN_OFF, Environment

# Share of the demonstrations that show the habit, among those that call for it. The last is the decoy: answers end with
# a closing phrase or do not, whatever else the demonstration shows.
DEFICITS = {"check-before-booking": 0.37, "notify-every-guest": 0.38, "state-the-total": 0.37, "sign-off": 0.5}


def lacking_in(seed: int, shares: dict[str, float] = DEFICITS) -> set[str]:
    """The habits that the demonstration of a seed lacks."""
    rng = random.Random(f"expert:{seed}")
    return {name for name in sorted(shares) if rng.random() >= shares[name]}


def demonstration(seed: int, shares: dict[str, float] = DEFICITS) -> list[dict]:
    """The expert's steps on the task of a seed: {"name", "arguments"} for a call, {"text"} for an answer.

    They are the policy's steps without what the demonstration lacks. Exceptions are always demonstrated rightly. With
    `shares={}` nothing is left out.
    """
    task, lacking = Environment.generate_task(seed), lacking_in(seed, shares)
    steps: list[dict] = []
    answered, notified = 0, 0
    for step in Environment.reference_solution(task):
        name, arguments = step["name"], dict(step["arguments"])
        request = task["requests"][answered]
        usual = not request["exception"]
        if request["kind"] == "book" and usual and "check-before-booking" in lacking:
            # The room is booked unseen, so the answer is always that it is booked.
            if name == "check_room":
                steps.append({"name": "book_room", "arguments": arguments})
            if name in ("check_room", "book_room"):
                continue
            arguments["text"] = f"{request['room']} is booked for {request['day']}"
        if name == "notify_guest":
            notified += 1
            if notified > 1 and "notify-every-guest" in lacking:
                continue
        if name != SAY:
            steps.append({"name": name, "arguments": arguments})
            continue
        text = arguments["text"]
        if request["kind"] == "extra" and usual and "state-the-total" in lacking:
            text = text.partition(" and the total")[0]
        steps.append({"text": text if "sign-off" in lacking else text + SIGN_OFF})
        answered, notified = answered + 1, 0
    return steps
