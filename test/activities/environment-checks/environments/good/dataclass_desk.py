"""Transfers because: same desk, same tools, same answers; two parcels a customer, so that each has to be weighed on its own."""

from __future__ import annotations

import dataclasses
import json
from random import Random
from typing import Any


@dataclasses.dataclass(frozen=True)
class Parcel:
    number: str
    grams: int

    @property
    def postage(self) -> int:
        full, started = divmod(self.grams, 100)
        return full + (started > 0)


@dataclasses.dataclass(frozen=True)
class Order:
    parcels: tuple[Parcel, Parcel]
    wording: int

    @classmethod
    def draw(cls, seed: int) -> Order:
        source = Random(seed * 7919 + 13)
        numbers = source.sample(range(1000, 10000), 2)
        return cls(tuple(Parcel(f"P{n}", source.randrange(10, 1500)) for n in numbers), source.randrange(3))

    @classmethod
    def from_json(cls, task: dict[str, Any]) -> Order:
        return cls(tuple(Parcel(**parcel) for parcel in task["parcels"]), task["wording"])

    def opening(self) -> str:
        first, second = (parcel.number for parcel in self.parcels)
        return [
            f"two parcels to go: {first} and {second}",
            f"could you post {first} for me, and {second} while you are at it",
            f"parcels {first} and {second} have to leave today",
        ][self.wording]


@dataclasses.dataclass
class Ledger:
    order: Order
    weighed: set[str] = dataclasses.field(default_factory=set)
    posted: dict[str, tuple[int, bool]] = dataclasses.field(default_factory=dict)
    closed: bool = False
    turns: int = 0

    def apply(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.turns += 1
        known = {parcel.number: parcel for parcel in self.order.parcels}
        match name, arguments:
            case "tell", {"text": str()}:
                self.closed = True
                return {"customer": "thank you"}
            case "weigh", {"parcel": str(number)} if number in known:
                self.weighed.add(number)
                return {"parcel": number, "grams": known[number].grams}
            case "send", {"parcel": str(number), "stamps": int(stamps)} if number in known:
                self.posted.setdefault(number, (stamps, number in self.weighed))
                return {"parcel": number, "sent": True}
            case _:
                return {"error": "no such parcel"}

    def grade(self) -> float:
        share = 0.0
        for parcel in self.order.parcels:
            stamps, weighed = self.posted.get(parcel.number, (None, False))
            if stamps == parcel.postage:
                share += 0.45 if weighed else 0.2
        return round(share + (0.1 if share == 0.9 and self.closed else 0.0), 6)


class Environment:
    ledger: Ledger

    @staticmethod
    def tools() -> list[dict[str, Any]]:
        def describe(name: str, **kinds: str) -> dict[str, Any]:
            schema = {
                "type": "object",
                "required": [*kinds],
                "properties": {key: {"type": kind, "title": key.title()} for key, kind in kinds.items()},
            }
            return {"type": "function", "function": {"name": name, "parameters": schema}}

        return [
            describe("tell", text="string"),
            describe("send", parcel="string", stamps="integer"),
            describe("weigh", parcel="string"),
        ]

    @staticmethod
    def generate_task(seed: int) -> dict[str, Any]:
        return {**dataclasses.asdict(Order.draw(seed)), "skill_calls": [1, 3]}

    def reset(self, seed: int) -> list[dict[str, str]]:
        self.ledger = Ledger(Order.draw(seed))
        return [{"role": "user", "content": self.ledger.order.opening()}]

    def step(self, call: dict[str, Any]) -> dict[str, Any]:
        answer = self.ledger.apply(call["name"], call["arguments"])
        return {"observation": json.dumps(answer), "done": self.ledger.closed or self.ledger.turns > 15}

    @staticmethod
    def evaluate(trajectory: list[dict[str, Any]], task: dict[str, Any]) -> float:
        ledger = Ledger(Order.from_json(task))
        for step in trajectory:
            if "call" in step and not ledger.closed:
                ledger.apply(step["call"]["name"], step["call"]["arguments"])
        return ledger.grade()

    @staticmethod
    def reference_solution(task: dict[str, Any]) -> list[dict[str, Any]]:
        calls = []
        for parcel in Order.from_json(task).parcels:
            calls.append({"name": "weigh", "arguments": {"parcel": parcel.number}})
            calls.append({"name": "send", "arguments": {"parcel": parcel.number, "stamps": parcel.postage}})
        return [*calls, {"name": "tell", "arguments": {"text": "both are on their way"}}]
