"""The written desk: an agent that answers customers in text, not through a tool. A small target for one fixture.

The policy, the customers and the tools are the orders desk's, as far as they are needed here; `reply` is missing.
"""

import json
import random

FIRST = "Ana Ben Cleo Dan Eva Finn Gia Hugo Ida Jon Kim Leo Mia Ned Ola Pia".split()
LAST = "Ruiz Stone Marsh Patel Novak Silva Brandt Young Kato Meyer Costa Lind Frost Hale Okoro Dunn".split()
PRODUCTS = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
STREETS = "Abbey Bridge Castle Dock East Field Garden Harbour Island Jubilee King Lower Market North Orchard".split()
HELD_OUT_FROM = 1_000_000
POLICY = """You are the assistant of an online shop's written desk. Use the tools; what you write goes to the customer.
Read an order with get_order before you cancel it. Cancel only a pending order; if it is shipped, say it is too late.
Change nothing that the customer did not ask for. One answer per request."""
TOOLS = {
    "get_order": ("Reads an order: status, items, total.", ["order"]),
    "cancel_order": ("Cancels an order.", ["order"]),
    "change_address": ("Sets the delivery address of an order.", ["order", "address"]),
}
PHRASES = {
    "cancel": ["cancel order {n}", "please cancel my order {n}", "i do not need order {n} any more so stop it"],
    "track": ["where is order {n}", "what is the status of order {n}", "has order {n} left yet"],
    "address": ["send order {n} to {road}", "i moved so ship order {n} to {road} instead"],
}


class Environment:
    """One conversation at the written desk."""

    @staticmethod
    def tools():
        """The desk's tools."""
        tools = []
        for name, (description, keys) in TOOLS.items():
            properties = {key: {"type": "string"} for key in keys}
            schema = {"type": "object", "properties": properties, "required": keys, "additionalProperties": False}
            tools.append(
                {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
            )
        return json.loads(json.dumps(tools))

    @staticmethod
    def generate_task(seed):
        """The hidden task of a seed. Held-out seeds have other customers than train seeds."""
        rng = random.Random(f"written-desk:{seed}")
        first = rng.randrange(len(FIRST))
        last = rng.choice([i for i in range(len(LAST)) if (i + first) % 2 == int(seed >= HELD_OUT_FROM)])
        orders = {}
        for number in rng.sample(range(10, 50), 3):
            status, total = rng.choice(["pending", "shipped"]), rng.randint(50, 99)
            orders[str(number)] = {"status": status, "items": rng.sample(PRODUCTS, 3), "total": total}
        kinds = [rng.choices(["cancel", "track", "address"], [60, 20, 20])[0]]
        if rng.random() < 0.3:
            kinds.append("track")
        wishes = []
        for kind, number in zip(kinds, orders, strict=False):
            road = f"{rng.choice(STREETS)} road"
            text = rng.choice(PHRASES[kind]).format(n=number, road=road)
            wishes.append({"kind": kind, "order": number, "road": road, "text": text})
        asked = " and then ".join(wish["text"] for wish in wishes)
        message = f"{asked}. i am {FIRST[first]} {LAST[last]}."
        return {"orders": orders, "wishes": wishes, "message": message}

    def reset(self, seed):
        """Starts the episode of a seed."""
        self.task = self.generate_task(seed)
        self.read, self.changes, self.said, self.turns = [], [], [], 0
        return [{"role": "system", "content": POLICY}, {"role": "user", "content": self.task["message"]}]

    @property
    def over(self):
        return self.turns >= 10 or len(self.said) == len(self.task["wishes"])

    def step(self, call):
        """Runs one tool call."""
        if self.over:
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        self.turns += 1
        answer = self._answer(call.get("name"), call.get("arguments"))
        return {"observation": json.dumps(answer, separators=(",", ":")), "done": self.over}

    def _answer(self, name, given):
        keys = TOOLS[name][1] if isinstance(name, str) and name in TOOLS else []
        if not keys or not isinstance(given, dict) or sorted(given) != sorted(keys):
            return {"error": "bad call"}
        if any(type(value) is not str for value in given.values()):
            return {"error": "bad call"}
        order = self.task["orders"].get(given["order"])
        if order is None:
            return {"error": "no such order"}
        if name == "get_order":
            self.read.append(given["order"])
            return {"order": given["order"], **order}
        unread = name == "cancel_order" and given["order"] not in self.read
        self.changes.append("unread" if unread else " ".join([name, *(given[key] for key in keys)]))
        return {"ok": True}

    def say(self, text):
        """The customer hears an answer."""
        if self.over:
            return {"observation": "bye", "done": True}
        self.turns += 1
        self.said.append(text)
        left = self.task["wishes"][len(self.said) :]
        return {"observation": f"thanks. now the other thing: {left[0]['text']}." if left else "bye", "done": self.over}

    @staticmethod
    def evaluate(trajectory, task):
        """1 when the changes are those that were asked for, no order was cancelled unread and each answer is right."""
        desk = Environment()
        desk.task, desk.read, desk.changes, desk.said, desk.turns = task, [], [], [], 0
        for entry in trajectory:
            desk.step(entry["call"]) if "call" in entry else desk.say(entry["text"])
        turns = Environment.reference_solution(task)
        wanted = [
            " ".join([c["name"], *c["arguments"].values()]) for c in turns if c.get("name", "get_order") != "get_order"
        ]
        return float(desk.changes == wanted and desk.said == [turn["text"] for turn in turns if "text" in turn])

    @staticmethod
    def reference_solution(task):
        """Calls and text turns that earn reward 1."""
        turns = []
        for wish in task["wishes"]:
            number = wish["order"]
            status, look = task["orders"][number]["status"], {"name": "get_order", "arguments": {"order": number}}
            if wish["kind"] == "track":
                turns += [look, {"text": f"{number} is {status}"}]
            elif wish["kind"] == "address":
                line = {"order": number, "address": wish["road"]}
                turns += [{"name": "change_address", "arguments": line}, {"text": f"{number} goes to the new address"}]
            elif status == "pending":
                cancel = {"name": "cancel_order", "arguments": {"order": number}}
                turns += [look, cancel, {"text": f"{number} cancelled"}]
            else:
                turns += [look, {"text": f"too late for {number}"}]
        return turns
