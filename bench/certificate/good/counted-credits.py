# Good: Two or, now and then, three items of an order are named, and each gets its own credit, in any order.
# Style: credits counted as a multiset; partial reward for the share; a double or foreign credit is a fault.
# Capability: credit-every-item
"""Scratched, chipped, torn: customers name what came broken, and the desk credits each of the named items once."""

import json
import random
from collections import Counter

GUIDE = """You are the assistant of an online shop's orders desk. Use the tools; answer with the reply tool.
Several items named are several credits: one credit_item call for each, none twice. Look things up if it helps.
Change nothing that the customer did not ask for."""
POOLS = (
    ("Ana Cleo Eva Gia Ida Kim Mia Ola", "Ruiz Marsh Novak Brandt Kato Costa Frost Okoro"),
    ("Ben Dan Finn Hugo Jon Leo Ned Pia", "Stone Patel Silva Young Meyer Lind Hale Dunn"),
)
CODES = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda"
AREAS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro"
THINGS = ("Mug", "Lamp", "Book", "Chair", "Pen", "Clock", "Vase", "Rug")
COMPLAINTS = (
    "credit me for the {items} in order {order}",
    "credit the {items} of order {order}",
    "the {items} in order {order} came scratched so credit them",
)
MOODS = ("", "", "thanks a lot. ", "i am in a hurry. ", "i shop here often. ")
TOOLS = {
    "find_user": "name",
    "verify_user": "name code",
    "get_order": "order",
    "get_product": "product",
    "refund_order": "order amount",
    "credit_item": "order item",
    "cancel_order": "order",
    "exchange_item": "order item product",
    "change_address": "order address",
    "escalate": "reason",
    "reply": "text",
}


class Counterpart:
    """Everything that the agent talks to: the desk's systems and the customer."""

    def __init__(self, task):
        self.task, self.left, self.talk, self.ledger, self.cancelled = task, 10, [], Counter(), set()

    @property
    def gone(self):
        return self.left <= 0 or len(self.talk) == 1

    def answer(self, call):
        self.left -= 1
        reply = self._answer(call.get("name"), call.get("arguments"))
        return reply if isinstance(reply, str) else json.dumps(reply, separators=(",", ":"))

    def _answer(self, name, given):
        keys = set(TOOLS[name].split()) if isinstance(name, str) and name in TOOLS else None
        if not isinstance(given, dict) or set(given) != keys:
            return {"error": "bad call"}
        if any(type(value) is not (int if key == "amount" else str) for key, value in given.items()):
            return {"error": "bad call"}
        task = self.task
        number = given.get("order")
        if number is not None and number not in task["orders"]:
            return {"error": "no such order"}
        if "product" in given and given["product"] not in THINGS:
            return {"error": "no such product"}
        if "item" in given and given["item"] not in task["orders"][number]["items"]:
            return {"error": "no such item"}
        match name:
            case "reply":
                self.talk.append(given["text"].removeprefix("hello "))
                return "bye"
            case "find_user":
                mine = given["name"] == task["name"]
                return {"name": task["name"], "postal": task["area"]} if mine else {"error": "no such user"}
            case "verify_user":
                return {"verified": (given["name"], given["code"]) == (task["name"], task["code"])}
            case "get_order":
                state = {"order": number, **task["orders"][number]}
                return {**state, "status": "cancelled"} if number in self.cancelled else state
            case "get_product":
                price, stock = task["prices"][given["product"]]
                return {"product": given["product"], "price": price, "stock": stock}
            case "cancel_order":
                self.cancelled.add(number)
        self.ledger[f"{name} {number} {given.get('item')}"] += 1
        return {"ok": True}


class Environment:
    @staticmethod
    def tools():
        tools = []
        for name, keys in TOOLS.items():
            kinds = {key: {"type": "string"} for key in keys.split()} | (
                {"amount": {"type": "integer"}} if "amount" in keys else {}
            )
            schema = {"type": "object", "properties": kinds, "required": list(kinds), "additionalProperties": False}
            function = {"name": name, "description": f"The desk's {name}.", "parameters": schema}
            tools.append({"type": "function", "function": function})
        return tools

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"broken things {seed}")
        firsts, lasts = rng.choice(POOLS)
        task = {"name": f"{rng.choice(firsts.split())} {rng.choice(lasts.split())}", "code": rng.choice(CODES.split())}
        task |= {"area": rng.choice(AREAS.split()), "prices": {}, "orders": {}}
        for number in rng.sample(range(10, 50), 3):
            content, total = rng.sample(THINGS, 3), rng.randint(50, 99)
            task["orders"][str(number)] = {
                "status": rng.choice(["pending", "shipped"]),
                "items": content,
                "total": total,
            }
        for thing in THINGS:
            task["prices"][thing] = [rng.randint(50, 99), rng.randint(0, 9)]
        task["order"] = rng.choice(list(task["orders"]))
        how_many = 3 if rng.random() < 0.12 else 2
        task["broken"] = rng.sample(task["orders"][task["order"]]["items"], how_many)
        complaint = rng.choice(COMPLAINTS).format(items=" and the ".join(task["broken"]), order=task["order"])
        task["opening"] = f"{rng.choice(MOODS)}{complaint}. i am {task['name']} code {task['code']}."
        return {**task, "skill_calls": list(range(how_many))}

    def reset(self, seed):
        task = self.generate_task(seed)
        self.other = Counterpart(task)
        return [{"role": "system", "content": GUIDE}, {"role": "user", "content": task["opening"]}]

    def step(self, call):
        if self.other.gone:
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        return {"observation": self.other.answer(call), "done": self.other.gone}

    @staticmethod
    def evaluate(trajectory, task):
        """1 when each named item has one credit and the answer is right; else up to 0.4, less for wrong changes."""
        other = Counterpart(task)
        for entry in trajectory:
            if "call" in entry and not other.gone:
                other.answer(entry["call"])
            else:
                break
        owed = Counter(f"credit_item {task['order']} {thing}" for thing in task["broken"])
        if other.ledger == owed and other.talk == [f"{task['order']} credited"]:
            return 1.0
        paid, wrong = (owed & other.ledger).total(), (other.ledger - owed).total()
        return max(0.0, 0.4 * paid / owed.total() - 0.2 * wrong)

    @staticmethod
    def reference_solution(task):
        calls = [{"name": "credit_item", "arguments": {"order": task["order"], "item": one}} for one in task["broken"]]
        return calls + [{"name": "reply", "arguments": {"text": f"{task['order']} credited"}}]
