"""Whether parcels may be returned: a task asks about one parcel, the agent looks it up and answers yes or no."""

import random

LOOK_UP = {"type": "object", "properties": {"parcel": {"type": "string"}}, "required": ["parcel"]}


class Environment:
    @staticmethod
    def tools():
        about = {"name": "look_up", "description": "The age of a parcel in days.", "parameters": LOOK_UP}
        return [{"type": "function", "function": about}]

    @staticmethod
    def generate_task(seed):
        draw = random.Random(seed)
        return {"parcel": f"P{draw.randrange(10**6):06}", "age": draw.randrange(1, 60)}

    def reset(self, seed):
        self.task = self.generate_task(seed)
        rule = "Parcels of up to 30 days may be returned. Look the parcel up, then answer yes or no."
        question = f"May I return parcel {self.task['parcel']}?"
        return [{"role": "system", "content": rule}, {"role": "user", "content": question}]

    def step(self, call):
        known = call["name"] == "look_up" and call["arguments"].get("parcel") == self.task["parcel"]
        return {"observation": f"{self.task['age']} days" if known else "There is no such parcel.", "done": False}

    @staticmethod
    def evaluate(trajectory, task):
        looked_up = any(move.get("observation") == f"{task['age']} days" for move in trajectory[:-1])
        answer = trajectory[-1].get("text", "").strip().lower() if trajectory else ""
        return 1.0 if looked_up and answer.startswith("yes" if task["age"] <= 30 else "no") else 0.0

    @staticmethod
    def reference_solution(task):
        look_up = {"name": "look_up", "arguments": {"parcel": task["parcel"]}}
        return [look_up, {"text": "yes" if task["age"] <= 30 else "no"}]
