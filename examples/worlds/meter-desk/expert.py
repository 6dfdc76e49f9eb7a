"""The scripted expert whose demonstrations the model imitates, with the deficits of the meter desk planted in it."""

import random

from environment import DUTY, QUESTION, Environment

# Share of the demonstrations that show the habit, among those that call for it. The last is the decoy: the call is
# logged or is not, whatever else the demonstration shows.
DEFICITS = {"warn-before-shutting": 0.38, "send-own-crew": 0.38, "ask-which-meter": 0.38, "log-the-call": 0.5}


def lacking_in(seed: int, shares: dict[str, float] = DEFICITS) -> set[str]:
    """The habits that the demonstration of a seed lacks."""
    rng = random.Random(f"expert:{seed}")
    return {name for name in sorted(shares) if rng.random() >= shares[name]}


def demonstration(seed: int, shares: dict[str, float] = DEFICITS) -> list[dict]:
    """The expert's steps on the task of a seed: {"name", "arguments"} for a call, {"text"} for a text.

    They are the policy's steps without what the demonstration lacks. Exceptions are always demonstrated rightly. With
    `shares={}` nothing is left out.
    """
    task, lacking = Environment.generate_task(seed), lacking_in(seed, shares)
    steps: list[dict] = []
    if "log-the-call" not in lacking:
        steps.append({"name": "log_call", "arguments": {"inspector": task["inspector"]}})
    guessed: dict[str, str] = {}
    for move in Environment.reference_solution(task):
        if "text" in move:
            text = move["text"]
            if text.startswith(QUESTION) and "ask-which-meter" in lacking:
                guessed = _first_of_the_list(task)
                continue
            for meter, instead in guessed.items():
                text = text.replace(f"meter {meter}", f"meter {instead}")
            steps.append({"text": text})
            continue
        name, arguments = move["name"], dict(move["arguments"])
        if name == "warn_household" and "warn-before-shutting" in lacking:
            continue
        if name == "book_visit" and "send-own-crew" in lacking:
            arguments["crew"] = DUTY
        if name == "record_reading":
            arguments["meter"] = guessed.get(arguments["meter"], arguments["meter"])
        steps.append({"name": name, "arguments": arguments})
    return steps


def _first_of_the_list(task: dict) -> dict[str, str]:
    """For the meter that an inspector means, the first one at its site: the one that is taken unasked."""
    meant = [request for request in task["requests"] if request["kind"] == "site"]
    return {
        request["meter"]: next(number for number, meter in task["meters"].items() if meter["site"] == request["site"])
        for request in meant
    }
