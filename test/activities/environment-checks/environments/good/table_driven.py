"""Postage for parcels in a queue: only the customer's own one may be sent. The tables below are the whole environment."""

import json
import random

TOOLS = (
    ("weigh", (("parcel", "string"),)),
    ("send", (("parcel", "string"), ("stamps", "integer"))),
    ("tell", (("text", "string"),)),
)
PHRASES = (
    "{p} please, it is the one with the {c} ribbon",
    "the one with the {c} ribbon is mine, number {p}, and it should go today",
    "would you post {p} for me, {c} ribbon",
    "{c} ribbon, number {p}, off it goes",
)
COLOURS = ("amber", "beige", "coral", "denim", "ebony", "frost", "green", "hazel", "ivory", "jade")
# Facts of an episode, first true row wins: (right stamps, weighed before, own parcel, reward).
REWARDS = (
    (True, True, True, 1.0),
    (True, False, True, 0.5),
    (False, True, True, 0.2),
    (False, False, True, 0.05),
    (None, None, False, 0.0),
)
SIZES = (99, 100, 101, 250, 300, 420, 555, 600, 777, 801, 999, 1000, 1250, 1500, 1999)

HANDLERS = {
    "weigh": lambda task, given: {"parcel": given["parcel"], "grams": task["queue"][given["parcel"]]},
    "send": lambda task, given: {"parcel": given["parcel"], "sent": True},
    "tell": lambda task, given: {"customer": "thank you"},
}


def respond(task, call):
    name, given = call["name"], call["arguments"]
    parameters = dict(dict(TOOLS).get(name, ()))
    if not parameters or not all(
        isinstance(given.get(key), str if kind == "string" else int) for key, kind in parameters.items()
    ):
        return {"error": "no such parcel"}
    if "parcel" in given and given["parcel"] not in task["queue"]:
        return {"error": "no such parcel"}
    return HANDLERS[name](task, given)


class Environment:
    @staticmethod
    def tools():
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "parameters": {
                        "type": "object",
                        "properties": {key: {"type": kind} for key, kind in parameters},
                        "required": [key for key, _ in parameters],
                    },
                },
            }
            for name, parameters in TOOLS
        ]

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"queue:{seed}")
        numbers = [f"P{n}" for n in rng.sample(range(1000, 10000), 3)]
        return {
            "queue": {number: rng.choice(SIZES) for number in numbers},
            "own": numbers[0],
            "text": rng.choice(PHRASES).format(p=numbers[0], c=rng.choice(COLOURS)),
            "skill_calls": [1],
        }

    def reset(self, seed):
        self.task, self.left = self.generate_task(seed), 9
        return [
            {"role": "system", "content": "You work at a post office counter."},
            {"role": "user", "content": self.task["text"]},
        ]

    def step(self, call):
        self.left -= 1
        answer = respond(self.task, call)
        return {"observation": json.dumps(answer), "done": "customer" in answer or self.left <= 0}

    @staticmethod
    def evaluate(trajectory, task):
        calls = [
            entry["call"] for entry in trajectory if "call" in entry and "error" not in respond(task, entry["call"])
        ]
        sends = [place for place, call in enumerate(calls) if call["name"] == "send"]
        if not sends:
            return 0.0
        first = calls[sends[0]]["arguments"]
        own = first["parcel"] == task["own"]
        right = first["stamps"] == (task["queue"][task["own"]] + 99) // 100
        weighed = {"name": "weigh", "arguments": {"parcel": task["own"]}} in calls[: sends[0]]
        facts = (right, weighed, own)
        return next(
            row[3] for row in REWARDS if all(want in (None, fact) for want, fact in zip(row, facts, strict=False))
        )

    @staticmethod
    def reference_solution(task):
        own = task["own"]
        return [
            {"name": "weigh", "arguments": {"parcel": own}},
            {"name": "send", "arguments": {"parcel": own, "stamps": (task["queue"][own] + 99) // 100}},
            {"name": "tell", "arguments": {"text": "done"}},
        ]
