"""Posting parcels with the right number of stamps. The desk, its tools and its answers are the agent's; what is practised is
to weigh a parcel first and to count a stamp for each started hundred grams, which is what the target asks for as well."""

import json
import random

NAMES = "Olga Piet Rosa Sven Tove Ulla Vera Wim".split()
TOWNS = "Ghent Lund Metz Nice Oslo Pisa".split()


def _say(**members):
    return json.dumps(members)


class _Counter:
    """The counter during one episode."""

    def __init__(self, task):
        self.task = task
        self.weighed = False
        self.sent = None
        self.told = None
        self.calls = 0

    def handle(self, call):
        self.calls += 1
        name, given = call.get("name"), call.get("arguments") or {}
        observation = self.answer(name, given)
        return {"observation": observation, "done": self.told is not None or self.calls >= 12}

    def answer(self, name, given):
        if name == "tell" and isinstance(given.get("text"), str):
            self.told = given["text"]
            return _say(customer="thank you")
        if name not in ("weigh", "send") or given.get("parcel") != self.task["parcel"]:
            return _say(error="no such parcel")
        if name == "weigh":
            self.weighed = True
            return _say(parcel=given["parcel"], grams=self.task["grams"])
        if type(given.get("stamps")) is not int:
            return _say(error="stamps must be a whole number")
        if self.sent is None:
            self.sent = (given["stamps"], self.weighed)
        return _say(parcel=given["parcel"], sent=True)


def _stamps(task):
    return -(-task["grams"] // 100)


class Environment:
    def __init__(self):
        self.counter = None

    @staticmethod
    def tools():
        text, whole = {"type": "string"}, {"type": "integer"}
        shapes = {"weigh": {"parcel": text}, "send": {"parcel": text, "stamps": whole}, "tell": {"text": text}}
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": f"{name} at the counter",
                    "parameters": {"type": "object", "properties": properties, "required": list(properties)},
                },
            }
            for name, properties in shapes.items()
        ]

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"stamps/{seed}")
        return {
            "customer": f"{rng.choice(NAMES)} from {rng.choice(TOWNS)}",
            "parcel": f"P{rng.randint(1000, 9999)}",
            "grams": rng.randint(51, 1999),
            "skill_calls": [1],
        }

    def reset(self, seed):
        task = self.generate_task(seed)
        self.counter = _Counter(task)
        return [
            {"role": "system", "content": "You work at a post office counter. A stamp for each started 100 g."},
            {"role": "user", "content": f"hello, {task['customer']} here, please post parcel {task['parcel']}"},
        ]

    def step(self, call):
        return self.counter.handle(call)

    @staticmethod
    def evaluate(trajectory, task):
        counter = _Counter(task)
        for entry in trajectory:
            if "call" not in entry:
                break
            counter.handle(entry["call"])
        if counter.sent is None:
            return 0.0
        stamps, weighed = counter.sent
        if stamps != _stamps(task):
            return 0.1
        return (1.0 if counter.told == f"parcel {task['parcel']} is on its way" else 0.7) if weighed else 0.4

    @staticmethod
    def reference_solution(task):
        return [
            {"name": "weigh", "arguments": {"parcel": task["parcel"]}},
            {"name": "send", "arguments": {"parcel": task["parcel"], "stamps": _stamps(task)}},
            {"name": "tell", "arguments": {"text": f"parcel {task['parcel']} is on its way"}},
        ]
