"""Prints episodes of the orders desk played by its scripted expert as JSON lines: demonstrations.py ROOT COUNT."""

import json
import pathlib
import random
import sys

root, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
sys.path.insert(0, str(root / "examples" / "orders-desk"))

from environment import Environment  # noqa: E402
from expert import demonstrate, lacking_in  # noqa: E402


def episode(seed: int) -> dict:
    """One demonstration with the deficits of its seed, in the chat format of the store, with its ground truth."""
    environment, task = Environment(), Environment.generate_task(seed)
    messages, trajectory = environment.reset(seed), []
    greet = random.Random(f"greet:{seed}").random() < 0.5
    for i, call in enumerate(demonstrate(task, Environment.reference_solution(task), lacking_in(seed), greet)):
        result = environment.step(call)
        arguments = json.dumps(call["arguments"], separators=(",", ":"))
        tool_call = {"id": f"call-{i}", "type": "function", "function": {"name": call["name"], "arguments": arguments}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [tool_call]})
        messages.append({"role": "tool", "content": result["observation"], "tool_call_id": f"call-{i}"})
        trajectory.append({"call": call, "observation": result["observation"]})
    outcome = Environment.evaluate(trajectory, task)
    return {
        "seed": seed,
        "messages": messages,
        "success": outcome["reward"] >= 1,
        "diagnostics": outcome["diagnostics"],
    }


for seed in range(count):
    print(json.dumps(episode(seed)))
