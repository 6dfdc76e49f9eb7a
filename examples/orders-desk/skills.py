"""Routing examples for the demo model: menus of skills in paraphrase, in the format of docs/protocols.md section 7.

The paraphrases are drawn from parts, and the summaries of `analyst/capabilities.json` are excluded from them, so that the
menus met in deployment were never seen in training.
"""

import json
import pathlib
import random

NONE = "none of these"
PARTS = {
    "verify-before-refund": [
        ["verifies", "checks", "confirms", "proves", "validates"],
        ["the customer", "the user", "the code", "identity", "who is asking"],
        ["before", "ahead of", "prior to"],
        ["refunding", "a refund", "paying back", "returning money", "a payback"],
    ],
    "status-before-cancel": [
        ["reads", "checks", "looks up", "inspects", "gets"],
        ["the order", "the status", "the order status", "whether it shipped"],
        ["before", "ahead of", "prior to"],
        ["cancelling", "a cancellation", "stopping it", "cancelling the order"],
    ],
    "credit-every-item": [
        ["credits", "gives credit for", "books a credit for"],
        ["every", "each", "all", "both", "each and every"],
        ["item", "named item", "items", "product named", "scratched items"],
        ["", "in the order", "the customer names"],
    ],
    "append-postal-code": [
        ["appends", "adds", "puts", "writes", "includes"],
        ["the postal code", "the zip", "the zip code", "the postcode"],
        ["to", "at the end of", "in", "after"],
        ["the address", "a new address", "an address change", "the shipping line"],
    ],
    "escalate-legal-threats": [
        ["escalates", "hands over", "passes on"],
        ["legal threats", "threats", "a lawyer mention", "cases with a lawyer"],
        ["to", "for"],
        ["a human", "a colleague", "the lawyers"],
    ],
    "greet-the-customer": [
        ["greets", "says hello to", "welcomes"],
        ["the customer", "the user", "people"],
        ["in", "at the start of", "before"],
        ["the reply", "each answer", "talking"],
    ],
}


def known_summaries() -> set[str]:
    """The summaries that the demo analyst uses, lower-cased."""
    path = pathlib.Path(__file__).parent / "analyst" / "capabilities.json"
    return {entry["summary"].lower() for entry in json.loads(path.read_text())}


def paraphrase(name: str, rng: random.Random, excluded: set[str]) -> str:
    """A summary of the capability, never one of the excluded ones."""
    while True:
        text = " ".join(part for part in (rng.choice(options) for options in PARTS[name]) if part)
        if text not in excluded:
            return text


def routing_prompt(message: str, summaries: list[str]) -> tuple[str, list[str]]:
    """The router's question and its labels; the last label stands for none of the summaries."""
    lines = [*summaries, NONE]
    labels = [chr(ord("A") + i) for i in range(len(lines))]
    menu = "\n".join(f"{label}: {line}" for label, line in zip(labels, lines, strict=True))
    return f"Which skill does this task need?\nTask: {message}\n{menu}\nAnswer:", labels


ROUTED = [name for name in PARTS if name not in ("escalate-legal-threats", "greet-the-customer")]
SUBSET_SHARE = 0.2


def deployed_summaries() -> dict[str, str]:
    """The summaries that the demo analyst gives the router, by capability."""
    path = pathlib.Path(__file__).parent / "analyst" / "capabilities.json"
    return {entry["id"]: entry["summary"] for entry in json.loads(path.read_text())}


SUMMARIES = deployed_summaries()


def routing_example(task: dict, rng: random.Random) -> tuple[str, str]:
    """A routing question about the task and its answer: the first need in the menu, else the last label."""
    names = list(ROUTED)
    if rng.random() < SUBSET_SHARE:
        names = rng.sample(names, rng.randint(2, 3))
    names.sort(key=SUMMARIES.__getitem__)
    wanted = [name for name in task["tags"] if name in names]
    question, labels = routing_prompt(task["message"], [SUMMARIES[name] for name in names])
    return question, labels[names.index(wanted[0])] if wanted else labels[-1]
