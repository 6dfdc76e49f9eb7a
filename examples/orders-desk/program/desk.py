"""The tools of the orders desk for programs: as a class, and for other languages as a process.

The process takes one JSON request a line, and gives one JSON answer a line:
{"reset": seed} -> {"messages", "tools"}; {"step": function of a call} -> {"observation", "done"};
{"finish": {"finish", "observations"}} -> the result that the program prints.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from environment import Environment  # noqa: E402


class Desk:
    """One episode at the desk."""

    def __init__(self):
        self.environment, self.played, self.seed, self.done = Environment(), [], 0, False

    def reset(self, seed: int) -> dict:
        """Starts the episode of a seed; returns how it begins, and the tools."""
        self.seed = seed
        return {"messages": self.environment.reset(seed), "tools": Environment.tools()}

    def step(self, function: dict) -> dict:
        """Runs a call as the model wrote it."""
        try:
            arguments = json.loads(function["arguments"])
        except ValueError:
            arguments = None
        if not isinstance(arguments, dict):
            return {"observation": f"Error: the arguments of {function['name']} are not a JSON object.", "done": False}
        call = {"name": function["name"], "arguments": arguments}
        result = self.environment.step(call)
        self.played.append({"call": call, "observation": result["observation"]})
        self.done = result["done"]
        return result

    def finish(self, ended: dict) -> dict:
        """The result of the episode."""
        hidden = Environment.generate_task(self.seed)
        return Environment.evaluate(self.played, hidden) | {"tags": hidden["tags"]} | ended


if __name__ == "__main__":
    desk = Desk()
    for line in sys.stdin:
        [(name, given)] = json.loads(line).items()
        answer = {"reset": desk.reset, "step": desk.step, "finish": desk.finish}[name](given)
        print(json.dumps(answer), flush=True)
