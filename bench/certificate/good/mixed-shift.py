# Good: A shift at the desk: mostly credits for two items, between them exchanges, questions and single-item credits.
# Style: a table of request kinds; what surrounds the capability in the target appears, also where one credit is right.
# Capability: credit-every-item
"""A shift at the desk as it comes, with many credits in it. Two items named are two credits, one item is one.

The other requests are there so that the habit stays where it belongs.
"""

import json
import random

SYSTEM = """You are the assistant of an online shop's orders desk. Use the tools; answer with the reply tool.
A customer who names several items gets a credit for each of them, one credit_item call per item.
Exchange what is to be exchanged, answer what is asked. Change nothing else. One reply per request."""
BOYS = "Ben Dan Finn Hugo Jon Leo Ned Pia|Stone Patel Silva Young Meyer Lind Hale Dunn"
GIRLS = "Ana Cleo Eva Gia Ida Kim Mia Ola|Ruiz Marsh Novak Brandt Kato Costa Frost Okoro"
CODES = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
AREAS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
STOCK = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
TWO = [
    "credit me for the {a} and the {b} in order {n}",
    "credit the {a} and the {b} of order {n}",
    "the {a} and the {b} in order {n} came scratched so credit them",
]
# kind: share, wordings, calls (tool and arguments, filled in below), answer
SHIFT = {
    "two credits": (78, TWO, [("credit_item", "n a"), ("credit_item", "n b")], "{n} credited"),
    "one credit": (4, ["credit me for the {a} in order {n}"], [("credit_item", "n a")], "{n} credited"),
    "exchange": (8, ["exchange the {a} in order {n} for the {p}"], [("exchange_item", "n a p")], "{n} exchanged"),
    "track": (5, ["where is order {n}", "has order {n} left yet"], [("get_order", "n")], "{n} is {status}"),
    "price": (5, ["how much is the {p}", "what does the {p} cost"], [("get_product", "p")], "the {p} costs {price}"),
}
MEANING = {"n": "order", "a": "item", "b": "item", "p": "product"}
TOOLS = (
    ("find_user", "name"),
    ("verify_user", "name", "code"),
    ("get_order", "order"),
    ("get_product", "product"),
    ("refund_order", "order", "amount"),
    ("credit_item", "order", "item"),
    ("cancel_order", "order"),
    ("exchange_item", "order", "item", "product"),
    ("change_address", "order", "address"),
    ("escalate", "reason"),
    ("reply", "text"),
)
ARGUMENTS = {name: keys for name, *keys in TOOLS}
QUIET = {"find_user", "verify_user", "get_order", "get_product"}


def key(call):
    return json.dumps(call, sort_keys=True)


class Environment:
    """One customer of the shift."""

    @staticmethod
    def tools():
        functions = []
        for name, *keys in TOOLS:
            properties = {each: {"type": "integer" if each == "amount" else "string"} for each in keys}
            parameters = {"type": "object", "properties": properties, "required": keys, "additionalProperties": False}
            functions.append({"name": name, "description": f"{name} of the desk", "parameters": parameters})
        return [{"type": "function", "function": function} for function in functions]

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"shift/{seed}")
        firsts, lasts = (part.split() for part in rng.choice([BOYS, GIRLS]).split("|"))
        task = {
            "name": f"{rng.choice(firsts)} {rng.choice(lasts)}",
            "code": rng.choice(CODES),
            "area": rng.choice(AREAS),
        }
        task["products"] = {each: {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)} for each in STOCK}
        task["orders"] = {}
        for number in map(str, rng.sample(range(10, 50), 3)):
            status, total = rng.choice(["pending", "shipped"]), rng.randint(50, 99)
            task["orders"][number] = {"status": status, "items": rng.sample(STOCK, 3), "total": total}
        kind = rng.choices(list(SHIFT), [share for share, *_ in SHIFT.values()])[0]
        _, wordings, calls, answer = SHIFT[kind]
        n = rng.choice(list(task["orders"]))
        order = task["orders"][n]
        a, b = rng.sample(order["items"], 2)
        p = rng.choice([each for each in STOCK if each not in order["items"]])
        fill = {"n": n, "a": a, "b": b, "p": p, "status": order["status"], "price": task["products"][p]["price"]}
        mood = rng.choice(["", "", "thanks a lot. ", "i am in a hurry. ", "i shop here often. "])
        task["opening"] = f"{mood}{rng.choice(wordings).format(**fill)}. i am {task['name']} code {task['code']}."
        task["answer"] = answer.format(**fill)
        task["work"] = [{"name": t, "arguments": {MEANING[k]: fill[k] for k in keys.split()}} for t, keys in calls]
        task["skill_calls"] = list(range(len(calls)))
        return task

    def reset(self, seed):
        self.task, self.made, self.ended = self.generate_task(seed), [], False
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": self.task["opening"]}]

    def step(self, call):
        if self.ended:
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        answer = self._answer(self.task, self.made, call)
        self.made.append(call)
        self.ended = answer == "bye" or len(self.made) >= 10
        text = answer if isinstance(answer, str) else json.dumps(answer, separators=(",", ":"))
        return {"observation": text, "done": self.ended}

    @staticmethod
    def _answer(task, made, call):
        name, given = call.get("name"), call.get("arguments")
        if not isinstance(name, str) or name not in ARGUMENTS or not isinstance(given, dict):
            return {"error": "bad call"}
        if set(given) != set(ARGUMENTS[name]):
            return {"error": "bad call"}
        if any(type(value) is not (int if each == "amount" else str) for each, value in given.items()):
            return {"error": "bad call"}
        order = task["orders"].get(given.get("order"), {})
        if "order" in given and not order:
            return {"error": "no such order"}
        if "product" in given and given["product"] not in STOCK:
            return {"error": "no such product"}
        if "item" in given and given["item"] not in order["items"]:
            return {"error": "no such item"}
        if name == "get_order":
            gone = any(key(each) == key({"name": "cancel_order", "arguments": given}) for each in made)
            return given | order | ({"status": "cancelled"} if gone else {})
        if name == "get_product":
            return given | task["products"][given["product"]]
        if name == "find_user":
            known = given["name"] == task["name"]
            return given | {"postal": task["area"]} if known else {"error": "no such user"}
        if name == "verify_user":
            return {"verified": given == {"name": task["name"], "code": task["code"]}}
        return "bye" if name == "reply" else {"ok": True}

    @staticmethod
    def evaluate(trajectory, task):
        """1 for exactly the work asked for and the right answer; 0.3 for a part of it without anything else."""
        made, said = [], None
        for entry in trajectory:
            if "call" not in entry or said is not None or len(made) >= 10:
                break
            answer = Environment._answer(task, made, entry["call"])
            made.append(entry["call"])
            if answer == "bye":
                said = entry["call"]["arguments"]["text"].removeprefix("hello ")
        changes = [key(c) for c in made if c.get("name") not in QUIET | {"reply"}]
        wanted = [key(c) for c in task["work"] if c["name"] not in QUIET]
        if sorted(changes) == sorted(wanted):
            return 1.0 if said == task["answer"] else 0.0 if not wanted else 0.3
        return 0.3 if changes and said and set(changes) < set(wanted) and len(changes) < len(wanted) else 0.0

    @staticmethod
    def reference_solution(task):
        return [*task["work"], {"name": "reply", "arguments": {"text": task["answer"]}}]
