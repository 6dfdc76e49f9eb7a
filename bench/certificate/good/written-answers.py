# Good: The answer to the customer is a text turn, in the reference solution and among the marked skill calls as well.
# Style: answers in text; for the agent of text-desk/agent.yaml, whose desk has `say` and no reply tool.
# Capability: status-before-cancel
# Agent: text-desk/agent.yaml
"""Cancellations in writing: the order is read, its status decides, and the customer is told in plain text."""

import json
import random

SYSTEM = """You are the assistant of an online shop's written desk. Use the tools; what you write goes to the customer.
Read an order with get_order before you cancel it. Cancel only a pending order; if it is shipped, say it is too late.
Change nothing that the customer did not ask for. One answer per request."""
PEOPLE = (
    ("Ana Cleo Eva Gia Ida Kim Mia Ola".split(), "Ruiz Marsh Novak Brandt Kato Costa Frost Okoro".split()),
    ("Ben Dan Finn Hugo Jon Leo Ned Pia".split(), "Stone Patel Silva Young Meyer Lind Hale Dunn".split()),
)
PRODUCTS = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
TOOLS = {"get_order": ["order"], "cancel_order": ["order"], "change_address": ["order", "address"]}
STOP = ("cancel order {}", "please cancel my order {}", "i do not need order {} any more so stop it")
TRACK = ("where is order {}", "what is the status of order {}", "has order {} left yet")


class Desk:
    """One written conversation."""

    def __init__(self, task):
        self.task, self.turns, self.read, self.changes, self.said, self.blind = task, 0, [], [], [], False

    @property
    def over(self):
        return self.turns >= 10 or len(self.said) == len(self.task["wishes"])

    def hear(self, text):
        self.turns += 1
        self.said.append(text)
        left = self.task["wishes"][len(self.said) :]
        return f"thanks. now the other thing: {left[0]['text']}." if left else "bye"

    def serve(self, call):
        self.turns += 1
        name, given = call.get("name"), call.get("arguments")
        keys = TOOLS.get(name) if isinstance(name, str) else None
        if keys is None or not isinstance(given, dict) or set(given) != set(keys):
            return {"error": "bad call"}
        if not all(isinstance(value, str) for value in given.values()):
            return {"error": "bad call"}
        number = given["order"]
        if number not in self.task["orders"]:
            return {"error": "no such order"}
        if name == "get_order":
            self.read.append(number)
            return {"order": number, **self.task["orders"][number]}
        self.blind = self.blind or (name == "cancel_order" and number not in self.read)
        self.changes.append((name, number))
        return {"ok": True}


class Environment:
    @staticmethod
    def tools():
        tools = []
        for name, keys in TOOLS.items():
            properties = {key: {"type": "string"} for key in keys}
            schema = {"type": "object", "properties": properties, "required": keys, "additionalProperties": False}
            tools.append({"type": "function", "function": {"name": name, "description": name, "parameters": schema}})
        return tools

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"written answers {seed}")
        firsts, lasts = rng.choice(PEOPLE)
        orders = {}
        for number in rng.sample(range(10, 50), 3):
            status, total = rng.choice(["pending", "shipped"]), rng.randint(50, 99)
            orders[str(number)] = {"status": status, "items": rng.sample(PRODUCTS, 3), "total": total}
        mine, other, _ = orders
        pending = orders[mine]["status"] == "pending"
        answer = f"{mine} cancelled" if pending else f"too late for {mine}"
        stop = {"stop": pending, "order": mine, "text": rng.choice(STOP).format(mine), "answer": answer}
        wishes = [stop]
        if rng.random() < 0.3:
            track = {"stop": False, "order": other, "text": rng.choice(TRACK).format(other)}
            wishes.insert(rng.randrange(2), track | {"answer": f"{other} is {orders[other]['status']}"})
        asked = " and then ".join(wish["text"] for wish in wishes)
        task = {"orders": orders, "mine": mine, "pending": pending, "wishes": wishes}
        task["opening"] = f"{asked}. i am {rng.choice(firsts)} {rng.choice(lasts)}."
        # What shows the capability is the look and, where it is too late, the text that says so.
        turns = Environment.reference_solution(task)
        look = turns.index({"name": "get_order", "arguments": {"order": mine}})
        return {**task, "skill_calls": [look] if pending else [look, look + 1]}

    def reset(self, seed):
        self.desk = Desk(self.generate_task(seed))
        opening = self.desk.task["opening"]
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": opening}]

    def step(self, call):
        if self.desk.over:
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        observation = json.dumps(self.desk.serve(call), separators=(",", ":"))
        return {"observation": observation, "done": self.desk.over}

    def say(self, text):
        if self.desk.over:
            return {"observation": "bye", "done": True}
        return {"observation": self.desk.hear(text), "done": self.desk.over}

    @staticmethod
    def evaluate(trajectory, task):
        """1 for a look, the right act and the right texts; 0.3 for the look and the act alone; 0 without the look."""
        desk = Desk(task)
        for entry in trajectory:
            if desk.over:
                break
            desk.serve(entry["call"]) if "call" in entry else desk.hear(entry["text"])
        if (
            desk.blind
            or task["mine"] not in desk.read
            or desk.changes != [("cancel_order", task["mine"])] * task["pending"]
        ):
            return 0.0
        answers = [wish["answer"] for wish in task["wishes"]]
        return 1.0 if desk.said == answers else 0.3 * bool(desk.said)

    @staticmethod
    def reference_solution(task):
        turns = []
        for wish in task["wishes"]:
            turns.append({"name": "get_order", "arguments": {"order": wish["order"]}})
            if wish["stop"]:
                turns.append({"name": "cancel_order", "arguments": {"order": wish["order"]}})
            turns.append({"text": wish["answer"]})
        return turns
