"""Routing examples for the demo model, in the format of docs/protocols.md section 7.

A model of a million parameters does not learn to read a menu in any order (tried: shuffled letters and paraphrased
summaries ended at chance), so it is taught this desk's menu: the summaries of `analyst/capabilities.json`, sorted as the
router sorts them, in a fifth of the examples a part of them. A large model needs no such lesson.
"""

import json
import pathlib
import random

NONE = "none of these"
DECOYS = ("escalate-legal-threats", "greet-the-customer")
SUBSET_SHARE = 0.2


def deployed_summaries() -> dict[str, str]:
    """The summaries that the demo analyst gives the router, by capability; decoys are left out."""
    path = pathlib.Path(__file__).parent / "analyst" / "capabilities.json"
    return {entry["id"]: entry["summary"] for entry in json.loads(path.read_text()) if entry["id"] not in DECOYS}


SUMMARIES = deployed_summaries()


def routing_prompt(message: str, summaries: list[str]) -> tuple[str, list[str]]:
    """The router's question and its labels; the last label stands for none of the summaries."""
    lines = [*summaries, NONE]
    labels = [chr(ord("A") + i) for i in range(len(lines))]
    menu = "\n".join(f"{label}: {line}" for label, line in zip(labels, lines, strict=True))
    return f"Which skill does this task need?\nTask: {message}\n{menu}\nAnswer:", labels


def routing_example(task: dict, rng: random.Random) -> tuple[str, str]:
    """A routing question about the task and its answer: the first need in the menu, else the last label."""
    names = list(SUMMARIES)
    if rng.random() < SUBSET_SHARE:
        names = rng.sample(names, rng.randint(2, 3))
    names.sort(key=SUMMARIES.__getitem__)
    wanted = [name for name in task["tags"] if name in names]
    question, labels = routing_prompt(task["message"], [SUMMARIES[name] for name in names])
    return question, labels[names.index(wanted[0])] if wanted else labels[-1]
