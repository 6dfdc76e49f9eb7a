"""Compares rows of captured tokens with the sampler's own record: `compare.py ROWS TRAJECTORIES RECORD MODEL`.

A difference is a token or log-probability of a turn that the record has otherwise, an answer that one of the two lacks,
or a token of a prompt that the model's chat template gives otherwise for the messages of the trajectory. Prints JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from whetstone.captured_rows import CapturedRow, captured_rows
from whetstone.chat import Chat
from whetstone.serve.requests import parse_chat_request


def lines(path: str) -> Iterator[dict]:
    """The JSON lines of a file."""
    with Path(path).open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def turns(row: CapturedRow) -> Iterator[tuple[list[int], list[int], list[float]]]:
    """Prompt, answer and log-probabilities of each answer of a row."""
    edges = np.flatnonzero(np.diff(np.concatenate([row.mask, [False]]).astype(np.int8)))
    for before, last in edges.reshape(-1, 2):
        start, end = before + 1, last + 1
        yield row.ids[:start].tolist(), row.ids[start:end].tolist(), row.logprobs[start:end].tolist()


def prompts(chat: Chat, trajectory: dict) -> Iterator[list[int]]:
    """The prompts of a trajectory's answers, rendered again from its messages."""
    own = trajectory.get("openingAnswers", 0)
    for place, message in enumerate(trajectory["messages"]):
        if message["role"] != "assistant":
            continue
        own -= 1
        if own < 0:
            body = {"model": "base", "messages": trajectory["messages"][:place]}
            yield chat.encode(chat.render(parse_chat_request(body).messages, None))


def key(prompt: list[int], answer: list[int], logprobs: list[float]) -> tuple:
    """A turn as it is compared: log-probabilities are 32-bit floats in both."""
    return tuple(prompt), tuple(answer), np.asarray(logprobs, np.float32).tobytes()


def unlike(left: Counter, right: Counter) -> int:
    """The number of tokens of turns that are in one of the two alone."""
    return sum(len(answer) * count for (_, answer, _), count in ((left - right) + (right - left)).items())


def main() -> None:
    """Prints the counts."""
    rows, trajectories, record, model = sys.argv[1:]
    chat = Chat(Path(model))
    kept: Counter = Counter()
    of_episode: dict[str, list[tuple]] = defaultdict(list)
    joined = branches = other_ids = 0
    for row in captured_rows(Path(rows)):
        found = [key(*turn) for turn in turns(row)]
        branches += row.episode in of_episode
        joined += len(found) - 1
        kept.update(found)
        of_episode[row.episode] += found
        other_ids += sum(chat.encode(chat.decode(list(answer))) != list(answer) for _, answer, _ in found)
    # The first request only asks whether the server gives tokens.
    _, *answers = lines(record)
    sampled = Counter(key(line["prompt"], line["tokens"], line["logprobs"]) for line in answers)
    differences = unlike(kept, sampled)
    for trajectory in lines(trajectories):
        known = {prompt for prompt, _, _ in of_episode[trajectory["id"]]}
        differences += sum(len(prompt) for prompt in prompts(chat, trajectory) if tuple(prompt) not in known)
    tokens = sum(len(answer) * count for (_, answer, _), count in kept.items())
    counts = {"turns": kept.total(), "tokens": tokens, "differences": differences}
    print(json.dumps({**counts, "joinedTurns": joined, "branches": branches, "answersTokenizedOtherwise": other_ids}))


if __name__ == "__main__":
    main()
