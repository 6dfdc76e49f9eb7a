"""Routing questions for a small model, in the format of docs/reference/protocols.md section 7.

A model of a million parameters does not learn to read a menu in any order (tried: shuffled letters and paraphrased
summaries ended at chance), so it is taught one menu: the summaries of the world's `analyst/capabilities.json` that are
no decoys, sorted as the router sorts them, in a fifth of the examples a part of them. A large model needs no such
lesson.
"""

import json
import pathlib
import random

NONE = "none of these"
SUBSET_SHARE = 0.2


def deployed_summaries(folder: pathlib.Path, decoys: tuple[str, ...]) -> dict[str, str]:
    """The summaries that a world's analyst gives the router, by capability; decoys are left out."""
    path = folder / "analyst" / "capabilities.json"
    return {entry["id"]: entry["summary"] for entry in json.loads(path.read_text()) if entry["id"] not in decoys}


def routing_prompt(message: str, summaries: list[str]) -> tuple[str, list[str]]:
    """The router's question and its labels; the last label stands for none of the summaries."""
    lines = [*summaries, NONE]
    labels = [chr(ord("A") + i) for i in range(len(lines))]
    menu = "\n".join(f"{label}: {line}" for label, line in zip(labels, lines, strict=True))
    return f"Which skill does this task need?\nTask: {message}\n{menu}\nAnswer:", labels


def routing_example(message: str, needs: list[str], summaries: dict[str, str], rng: random.Random) -> tuple[str, str]:
    """A routing question about a task and its answer: the first need that is in the menu, else the last label.

    Args:
        message: the first user message.
        needs: capabilities that the task needs, in the order in which it needs them.
        summaries: see `deployed_summaries`.
        rng: chooses the menu.
    """
    names = list(summaries)
    if rng.random() < SUBSET_SHARE:
        names = rng.sample(names, rng.randint(2, 3))
    names.sort(key=summaries.__getitem__)
    wanted = [name for name in needs if name in names]
    question, labels = routing_prompt(message, [summaries[name] for name in names])
    return question, labels[names.index(wanted[0])] if wanted else labels[-1]
