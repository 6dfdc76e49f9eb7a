"""The parcel's way over the counter as a machine of states. What transfers is the order of the states: scales before stamps."""

import enum
import functools
import json
import math
import random
from collections import namedtuple

Task = namedtuple("Task", "number grams story skill_calls")
World = namedtuple("World", "state stamps greeted")
Kind = enum.Enum("Kind", "WEIGH SEND TELL")


class State(enum.IntEnum):
    BROUGHT = 0
    WEIGHED = 1
    GUESSED = 2
    STAMPED = 3


START = World(State.BROUGHT, None, False)
STORIES = [
    "my aunt in {} is waiting for {}",
    "the school in {} has asked for {}",
    "my friend in {} will like {}",
    "nobody in {} expects {}",
]
PLACES = ["Arles", "Bonn", "Cork", "Dover", "Elba", "Fulda", "Genoa", "Hull"]


def parse(task, call):
    """The kind of a call that makes sense, else None."""
    given = call["arguments"]
    if call["name"] == "tell":
        return Kind.TELL
    if given.get("parcel") != task.number:
        return None
    if call["name"] == "weigh":
        return Kind.WEIGH
    return Kind.SEND if call["name"] == "send" and type(given.get("stamps")) is int else None


def advance(task, world, call):
    kind = parse(task, call)
    if kind is Kind.WEIGH and world.state is State.BROUGHT:
        return world._replace(state=State.WEIGHED)
    if kind is Kind.SEND and world.state < State.GUESSED:
        after = State.STAMPED if world.state is State.WEIGHED else State.GUESSED
        return world._replace(state=after, stamps=call["arguments"]["stamps"])
    return world._replace(greeted=world.greeted or kind is Kind.TELL)


def observe(task, call):
    kind = parse(task, call)
    document = {
        Kind.WEIGH: {"parcel": task.number, "grams": task.grams},
        Kind.SEND: {"parcel": task.number, "sent": True},
        Kind.TELL: {"customer": "thank you"},
        None: {"error": "no such parcel"},
    }[kind]
    return json.dumps(document)


class Environment:
    def __init__(self):
        self._gone, self._task = 0, None

    @classmethod
    def tools(cls):
        def of(name, **properties):
            return {
                "type": "function",
                "function": {
                    "name": name,
                    "description": cls.__doc__ or name,
                    "parameters": {"type": "object", "properties": properties, "required": sorted(properties)},
                },
            }

        string = {"type": "string"}
        return [
            of("send", stamps={"type": "integer"}, parcel=string),
            of("tell", text=string),
            of("weigh", parcel=string),
        ]

    @staticmethod
    def generate_task(seed):
        draw = random.Random(str(seed)[::-1])
        number = f"P{draw.randrange(1000, 10000)}"
        story = draw.choice(STORIES).format(draw.choice(PLACES), number)
        return Task(number, draw.randrange(20, 2500), story, [0, 1])._asdict()

    def reset(self, seed):
        self._task, self._gone = Task(**self.generate_task(seed)), 0
        return [{"role": "user", "content": self._task.story}]

    def step(self, call):
        self._gone += 1
        return {"observation": observe(self._task, call), "done": self._gone >= 8 or call["name"] == "tell"}

    @staticmethod
    def evaluate(trajectory, task):
        task = Task(**task)
        calls = [entry["call"] for entry in trajectory if entry.get("call")]
        world = functools.reduce(functools.partial(advance, task), calls, START)
        right = world.stamps == math.ceil(task.grams / 100)
        score = {
            State.BROUGHT: 0.0,
            State.WEIGHED: 0.0,
            State.GUESSED: 0.3 * right,
            State.STAMPED: 0.8 if right else 0.15,
        }
        return score[world.state] + 0.2 * (world.greeted and right and world.state is State.STAMPED)

    @staticmethod
    def reference_solution(task):
        task = Task(**task)
        stamps = math.ceil(task.grams / 100)
        return [
            {"name": "weigh", "arguments": {"parcel": task.number}},
            {"name": "send", "arguments": {"parcel": task.number, "stamps": stamps}},
            {"name": "tell", "arguments": {"text": "bye"}},
        ]
