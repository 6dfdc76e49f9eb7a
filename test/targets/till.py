"""A till with one task: charge what the customer says. The example of docs/guides/benchmarks.md."""

import random

from whetstone_process import Environment, Episode, TaskFailed, serve

CHARGE = {
    "type": "function",
    "function": {
        "name": "charge",
        "description": "Charges the customer.",
        "parameters": {"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]},
    },
}


class Sale(Episode):
    def __init__(self, seed):
        self.cents, self.charged = random.Random(seed).randrange(100, 1000), None
        self.messages = [{"role": "user", "content": f"One coffee for {self.cents} cents, please."}]

    def call(self, name, arguments):
        if type(arguments.get("cents")) is not int:
            return "Error: cents is not a number."
        self.charged, self.done = arguments["cents"], True
        return "Charged."

    def say(self, text):
        if not text:
            raise TaskFailed("simulator", "the customer did not understand")
        return "I would like to pay."

    def evaluate(self):
        return 1.0 if self.charged == self.cents else 0.0


class Till(Environment):
    name, tools, packages = "till", [CHARGE], []

    def open(self, task, seed):
        return Sale(seed)


if __name__ == "__main__":
    serve(Till)
