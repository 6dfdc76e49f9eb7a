# Good: The order's status decides what is done and what the answer says; half of the orders are too late to cancel.
# Style: one class with a method for each tool; the answer's text carries the result; other looks are accepted.
# Capability: status-before-cancel
"""People change their minds. Whether it is too late stands in the order, so it is read before anything is done."""

import json
import random

RULES = """You are the assistant of an online shop's orders desk. Use the tools; answer with the reply tool.
Read an order with get_order before you cancel it. Cancel only a pending order; if it is shipped, say that it is too
late. Look up whatever you like, but change nothing that the customer did not ask for."""
NAMES = {
    "Ana Cleo Eva Gia Ida Kim Mia Ola": "Ruiz Marsh Novak Brandt Kato Costa Frost Okoro",
    "Ben Dan Finn Hugo Jon Leo Ned Pia": "Stone Patel Silva Young Meyer Lind Hale Dunn",
}
CODES = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
POSTS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
WARES = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
PLEAS = ["cancel order %s", "please cancel my order %s", "i do not need order %s any more so stop it"]


class Shop:
    """The shop as one customer meets it; each public method is a tool."""

    def __init__(self, task):
        self._task, self._read, self._changes, self._said, self._blind = task, set(), [], [], False

    def find_user(self, name: str):
        """Finds a customer by full name."""
        task = self._task
        return {"name": name, "postal": task["post"]} if name == task["name"] else {"error": "no such user"}

    def verify_user(self, name: str, code: str):
        """Checks a customer's code."""
        return {"verified": [name, code] == [self._task["name"], self._task["code"]]}

    def get_order(self, order: str):
        """Reads an order: status, items, total."""
        self._read.add(order)
        found = dict(self._task["orders"][order])
        if ("cancel_order", order) in self._changes:
            found["status"] = "cancelled"
        return {"order": order, **found}

    def get_product(self, product: str):
        """Reads a product: price and stock."""
        return {"product": product, **self._task["wares"][product]}

    def refund_order(self, order: str, amount: int):
        """Pays back an order."""
        return self._change("refund_order", order)

    def credit_item(self, order: str, item: str):
        """Credits one item of an order."""
        return self._change("credit_item", order, item)

    def cancel_order(self, order: str):
        """Cancels an order."""
        self._blind = self._blind or order not in self._read
        return self._change("cancel_order", order)

    def exchange_item(self, order: str, item: str, product: str):
        """Exchanges one item of an order."""
        return self._change("exchange_item", order, item)

    def change_address(self, order: str, address: str):
        """Sets the delivery address of an order."""
        return self._change("change_address", order)

    def escalate(self, reason: str):
        """Hands the case to a human colleague as well."""
        return self._change("escalate", None)

    def reply(self, text: str):
        """Says something to the customer."""
        self._said.append(text.removeprefix("hello "))
        return "bye"

    def _change(self, tool, order, item=None):
        if item is not None and item not in self._task["orders"][order]["items"]:
            return {"error": "no such item"}
        self._changes.append((tool, order))
        return {"ok": True}

    def _serve(self, call):
        name, given = call.get("name"), call.get("arguments")
        wanted = SIGNATURES.get(name) if isinstance(name, str) else None
        if wanted is None or not isinstance(given, dict) or wanted.keys() != given.keys():
            return {"error": "bad call"}
        if any(type(given[key]) is not kind for key, kind in wanted.items()):
            return {"error": "bad call"}
        if given.get("order", self._task["mine"]) not in self._task["orders"]:
            return {"error": "no such order"}
        if given.get("product", "Mug") not in WARES:
            return {"error": "no such product"}
        return getattr(self, name)(**given)


SIGNATURES = {name: dict(method.__annotations__) for name, method in vars(Shop).items() if not name.startswith("_")}


class Environment:
    @staticmethod
    def tools():
        listed = []
        for name, keys in SIGNATURES.items():
            kinds = {key: {"type": "integer" if kind is int else "string"} for key, kind in keys.items()}
            schema = {"type": "object", "properties": kinds, "required": list(keys), "additionalProperties": False}
            function = {"name": name, "description": getattr(Shop, name).__doc__, "parameters": schema}
            listed.append({"type": "function", "function": function})
        return listed

    @staticmethod
    def generate_task(seed):
        rng = random.Random(seed * 7919 + 11)
        firsts, lasts = rng.choice(list(NAMES.items()))
        name, code = f"{rng.choice(firsts.split())} {rng.choice(lasts.split())}", rng.choice(CODES)
        orders = {}
        for number in rng.sample(range(10, 50), 3):
            goods, total = rng.sample(WARES, 3), rng.randint(50, 99)
            orders[str(number)] = {"status": rng.choice(["pending", "shipped"]), "items": goods, "total": total}
        mine = rng.choice(list(orders))
        talk = rng.choice(["", "", "thanks a lot. ", "i am in a hurry. ", "i shop here often. "])
        opening = f"{talk}{rng.choice(PLEAS) % mine}. i am {name} code {code}."
        wares = {ware: {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)} for ware in WARES}
        task = {"name": name, "code": code, "post": rng.choice(POSTS), "orders": orders, "wares": wares}
        return {**task, "mine": mine, "opening": opening, "skill_calls": [0]}

    def reset(self, seed):
        self._task = self.generate_task(seed)
        self._shop, self._count = Shop(self._task), 0
        return [{"role": "system", "content": RULES}, {"role": "user", "content": self._task["opening"]}]

    def step(self, call):
        if self._shop._said or self._count >= 10:
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        self._count += 1
        answer = self._shop._serve(call)
        text = answer if isinstance(answer, str) else json.dumps(answer, separators=(",", ":"))
        return {"observation": text, "done": bool(self._shop._said) or self._count >= 10}

    @staticmethod
    def evaluate(trajectory, task):
        """1 for the right act and the right answer after a look, 0.3 for the right act alone, 0 without the look."""
        shop, mine = Shop(task), task["mine"]
        for count, entry in enumerate(trajectory):
            if "call" not in entry or shop._said or count >= 10:
                break
            shop._serve(entry["call"])
        pending = task["orders"][mine]["status"] == "pending"
        if shop._blind or mine not in shop._read or shop._changes != [("cancel_order", mine)] * pending:
            return 0.0
        right = f"{mine} cancelled" if pending else f"too late for {mine}"
        return 1.0 if shop._said == [right] else 0.3 * bool(shop._said)

    @staticmethod
    def reference_solution(task):
        mine = {"order": task["mine"]}
        calls, text = [{"name": "get_order", "arguments": mine}], f"too late for {task['mine']}"
        if task["orders"][task["mine"]]["status"] == "pending":
            calls.append({"name": "cancel_order", "arguments": mine})
            text = f"{task['mine']} cancelled"
        return [*calls, {"name": "reply", "arguments": {"text": text}}]
