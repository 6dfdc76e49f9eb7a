"""Stamps, counted. Why it carries over: a parcel's weight is only on the scales, and the postage only follows from the weight."""

import json
import random

ADJECTIVES = ["small", "large", "heavy", "light", "square", "round", "old", "new", "red", "blue"]
CONTENTS = ["books", "shoes", "cups", "toys", "tools", "lamps", "maps", "seeds", "wool", "tea"]


def make_task(seed):
    r = random.Random(seed)
    task = {}
    task["number"] = "P" + str(r.randint(1000, 9999))
    task["what"] = r.choice(ADJECTIVES) + " box of " + r.choice(CONTENTS)
    task["weight"] = r.randint(1, 30) * 100 - r.randint(0, 99)
    task["skill_calls"] = [1]
    return task


def postage(task):
    stamps = 0
    left = task["weight"]
    while left > 0:
        stamps += 1
        left -= 100
    return stamps


def answer(task, name, arguments):
    if name == "tell":
        return {"customer": "thank you"}
    if name not in ("weigh", "send"):
        return {"error": "no such parcel"}
    if arguments.get("parcel") != task["number"]:
        return {"error": "no such parcel"}
    if name == "weigh":
        return {"parcel": task["number"], "grams": task["weight"]}
    return {"parcel": task["number"], "sent": True}


def grade(task, trajectory):
    weighed = False
    for item in trajectory:
        call = item.get("call")
        if not call:
            return 0.0
        arguments = call["arguments"]
        if call["name"] == "weigh" and arguments.get("parcel") == task["number"]:
            weighed = True
        if call["name"] == "send" and arguments.get("parcel") == task["number"]:
            stamps = arguments.get("stamps")
            if isinstance(stamps, bool) or not isinstance(stamps, int):
                return 0.0
            off = abs(stamps - postage(task))
            if off == 0:
                return 1.0 if weighed else 0.5
            return 0.25 if weighed and off == 1 else 0.0
    return 0.0


def tool(name, *parameters):
    properties = {}
    for parameter in parameters:
        properties[parameter] = {"type": "integer" if parameter == "stamps" else "string"}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


class Environment:
    tools = staticmethod(lambda: [tool("weigh", "parcel"), tool("send", "parcel", "stamps"), tool("tell", "text")])
    generate_task = staticmethod(make_task)
    evaluate = staticmethod(lambda trajectory, task: grade(task, trajectory))

    def reset(self, seed):
        self.task, self.steps = make_task(seed), 0
        return [{"role": "user", "content": "i bring a " + self.task["what"] + ", it is parcel " + self.task["number"]}]

    def step(self, call):
        self.steps += 1
        observation = json.dumps(answer(self.task, call["name"], call["arguments"]))
        return {"observation": observation, "done": call["name"] in ("tell", "send") or self.steps == 10}

    @staticmethod
    def reference_solution(task):
        number = task["number"]
        return [
            {"name": "weigh", "arguments": {"parcel": number}},
            {"name": "send", "arguments": {"parcel": number, "stamps": postage(task)}},
        ]
