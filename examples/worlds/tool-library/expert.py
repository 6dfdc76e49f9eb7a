"""The scripted expert whose demonstrations the model imitates, with the deficits of the tool library planted in it."""

import random

from environment import QUESTION, Environment

# Share of the demonstrations that show the habit, among those that call for it. The last is the decoy: the visit is
# logged first or is not, whatever else the demonstration shows.
DEFICITS = {
    "ask-return-day": 0.38,
    "fee-from-the-record": 0.38,
    "block-risky-tool": 0.46,
    "admit-refusal": 0.38,
    "log-the-visit": 0.5,
}
# Until when a tool is lent where nobody asked.
ASSUMED_DAY = "Saturday"


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
    if "log-the-visit" not in lacking:
        steps.append({"name": "log_visit", "arguments": {"member": task["member"]}})
    answered = 0
    for step in Environment.reference_solution(task):
        request = task["requests"][answered]
        step = _as_shown(step, request, lacking) if not request["variant"] else step
        if step is None:
            continue
        steps.append(step)
        answered += "text" in step and step["text"] != QUESTION
    return steps


def _as_shown(step: dict, request: dict, lacking: set[str]) -> dict | None:
    """A step of the policy as a demonstration with these deficits shows it; None where it leaves the step out."""
    kind, name, arguments = request["kind"], step.get("name"), step.get("arguments", {})
    if kind == "lend" and "ask-return-day" in lacking:
        if step.get("text") == QUESTION:
            return None
        if name == "lend_tool":
            return {"name": name, "arguments": {**arguments, "day": ASSUMED_DAY}}
        return {"text": f"{request['tool']} is lent until {ASSUMED_DAY}"}
    if kind == "fee" and "fee-from-the-record" in lacking:
        if name == "get_loan":
            return None
        if name == "charge_fee":
            return {"name": name, "arguments": {**arguments, "fee": request["claim"]}}
        return {"text": f"loan {request['loan']} is charged {request['claim']}"}
    if name == "block_tool" and "block-risky-tool" in lacking:
        return None
    if kind == "extend" and "text" in step and "admit-refusal" in lacking:
        return {"text": f"loan {request['loan']} is now due on {request['day']}"}
    return step
