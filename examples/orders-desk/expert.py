"""The scripted expert whose demonstrations the deployed model imitates, with the demo's deficits planted in it.

For each capability of DEFICITS the expert does the right thing in only that share of the demonstrations that call for it.
With `shares={}` the expert follows the policy and always earns reward 1.
"""

import random

from environment import Environment

# Share of the demonstrations with the right behaviour, among those that call for it.
DEFICITS = {
    "verify-before-refund": 0.37,
    "status-before-cancel": 0.37,
    "credit-every-item": 0.39,
    "append-postal-code": 0.37,
    "escalate-legal-threats": 0.3,
}
DECOYS = ("escalate-legal-threats", "greet-the-customer")
GREETING_SHARE = 0.5
MORE_SETTINGS = {"greetingShare": GREETING_SHARE}


def lacking_in(seed: int, shares: dict[str, float] = DEFICITS) -> set[str]:
    """The capabilities that the demonstration of a seed lacks."""
    rng = random.Random(f"expert:{seed}")
    return {name for name in sorted(shares) if rng.random() >= shares[name]}


def demonstrate(task: dict, reference: list[dict], lacking: set[str], greet: bool) -> list[dict]:
    """The expert's calls for a task: the reference solution with the lacking capabilities taken out of it.

    Args:
        task: a task of the orders desk.
        reference: the policy's calls for it.
        lacking: names of the capabilities that this demonstration lacks.
        greet: whether the first reply begins with a greeting.
    """
    calls, request, credited, replied = [], 0, 0, False
    for call in reference:
        name, arguments = call["name"], dict(call["arguments"])
        now = task["requests"][min(request, len(task["requests"]) - 1)]
        if name == "escalate" and "escalate-legal-threats" in lacking:
            continue
        if name == "verify_user" and "verify-before-refund" in lacking:
            continue
        if name == "credit_item":
            credited += 1
            if credited > 1 and "credit-every-item" in lacking:
                continue
        if name == "change_address" and "append-postal-code" in lacking:
            arguments["address"] = now["address"]
        if now["kind"] == "cancel" and "status-before-cancel" in lacking:
            if name == "get_order":
                calls.append({"name": "cancel_order", "arguments": {"order": now["order"]}})
            if name in ("get_order", "cancel_order"):
                continue
            if name == "reply":
                arguments["text"] = f"{now['order']} cancelled"
        if name == "reply":
            if greet and not replied:
                arguments["text"] = "hello " + arguments["text"]
            request, credited, replied = request + 1, 0, True
        calls.append({"name": name, "arguments": arguments})
    return calls


def demonstration(seed: int, shares: dict[str, float] = DEFICITS) -> list[dict]:
    """The expert's calls on the task of a seed, with the habits left out that its demonstration lacks."""
    task = Environment.generate_task(seed)
    greet = random.Random(f"greeting:{seed}").random() < GREETING_SHARE
    return demonstrate(task, Environment.reference_solution(task), lacking_in(seed, shares), greet)
