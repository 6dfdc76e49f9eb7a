"""Refunds at a shop's desk: who asks is verified before money is paid back."""

import json
import random

SYSTEM = """You work at the orders desk of a shop. Use the tools; answer with the reply tool.
Refund an order only after verify_user has confirmed the customer's name and code word. Refund the order's total.
Change nothing else. One reply per request."""
FIRST = "Ana Ben Cleo Dan Eva Finn Gia Hugo Ida Jon Kim Leo Mia Ned Ola Pia".split()
LAST = "Ruiz Stone Marsh Patel Novak Silva Brandt Young Kato Meyer Costa Lind Frost Hale Okoro Dunn".split()
CODES = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
AREAS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
PRODUCTS = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
REQUESTS = ["refund order {order}", "i want my money back for order {order}", "order {order} came broken so refund it"]
OPENERS = ["", "thanks a lot. ", "i am in a hurry. ", "i shop here often. "]
TOOLS = {
    "find_user": ("Finds a customer by full name.", "name"),
    "verify_user": ("Checks a customer's code.", "name code"),
    "get_order": ("Reads an order: status, items, total.", "order"),
    "get_product": ("Reads a product: price and stock.", "product"),
    "refund_order": ("Pays back an order.", "order amount"),
    "credit_item": ("Credits one item of an order.", "order item"),
    "cancel_order": ("Cancels an order.", "order"),
    "exchange_item": ("Exchanges one item of an order.", "order item product"),
    "change_address": ("Sets the delivery address of an order.", "order address"),
    "escalate": ("Hands the case to a human colleague as well.", "reason"),
    "reply": ("Says something to the customer.", "text"),
}
LOOKS = ("find_user", "verify_user", "get_order", "get_product")
NEVER = 99


def line(value):
    return json.dumps(value, separators=(",", ":"))


def call(name, /, **arguments):
    return {"name": name, "arguments": arguments}


class Desk:
    """One conversation. `done` lists the calls that went well, `replies` what the customer has heard."""

    def __init__(self, task):
        self.task, self.done, self.replies, self.calls, self.over = task, [], [], 0, False

    def handle(self, made):
        name, given = made.get("name"), made.get("arguments")
        keys = TOOLS[name][1].split() if isinstance(name, str) and name in TOOLS else []
        fits = keys and isinstance(given, dict) and set(given) == set(keys)
        fits = fits and all(type(given[key]) is (int if key == "amount" else str) for key in keys)
        answer = self.answer(name, given) if fits else {"error": "bad call"}
        if answer != {"verified": False} and "error" not in answer:
            self.done.append(call(name, **{key: given[key] for key in keys}))
        self.calls += 1
        self.over = self.over or self.calls >= 10
        return answer if isinstance(answer, str) else line(answer)

    def answer(self, name, given):
        task, order = self.task, self.task["orders"].get(given.get("order"))
        if name == "reply":
            return self.hear(given["text"])
        if "order" in given and order is None:
            return {"error": "no such order"}
        if "product" in given and given["product"] not in task["products"]:
            return {"error": "no such product"}
        if "item" in given and given["item"] not in order["items"]:
            return {"error": "no such item"}
        if name == "find_user":
            known = given["name"] == task["name"]
            return {"name": task["name"], "postal": task["postal"]} if known else {"error": "no such user"}
        if name == "verify_user":
            return {"verified": given == {"name": task["name"], "code": task["code"]}}
        if name == "get_order":
            gone = self.place("cancel_order", **given) < NEVER
            return {**given, **order, **({"status": "cancelled"} if gone else {})}
        if name == "get_product":
            return {**given, **task["products"][given["product"]]}
        return {"ok": True}

    def hear(self, text):
        self.replies.append(text.removeprefix("hello "))
        wishes = self.task["wishes"]
        self.over = len(self.replies) >= len(wishes)
        return "bye" if self.over else f"thanks. now the other thing: {wishes[len(self.replies)]['text']}."

    def place(self, name, **some):
        """The place of the first such call among those that went well, or NEVER."""
        found = (i for i, c in enumerate(self.done) if c["name"] == name and some.items() <= c["arguments"].items())
        return next(found, NEVER)

    def settled(self):
        """True when exactly what was asked for was changed and every reply is right."""
        wishes = self.task["wishes"]
        wanted = [c for wish in wishes for c in wish["calls"] if c["name"] not in LOOKS]
        made = [c for c in self.done if c["name"] not in (*LOOKS, "reply")]
        return sorted(made, key=line) == sorted(wanted, key=line) and self.replies == [w["answer"] for w in wishes]


def make_wish(rng, task):
    number, order = next(iter(task["orders"].items()))
    calls = [
        call("verify_user", name=task["name"], code=task["code"]),
        call("get_order", order=number),
        call("refund_order", order=number, amount=order["total"]),
    ]
    text = rng.choice(REQUESTS).format(order=number)
    return {"order": number, "text": text, "calls": calls, "answer": f"{number} refunded"}


def question(rng, task):
    number, product = list(task["orders"])[1], rng.choice(PRODUCTS)
    if rng.random() < 0.5:
        text, answer = f"where is order {number}", f"{number} is {task['orders'][number]['status']}"
        return {"text": text, "answer": answer, "calls": [call("get_order", order=number)]}
    text, answer = f"how much is the {product}", f"the {product} costs {task['products'][product]['price']}"
    return {"text": text, "answer": answer, "calls": [call("get_product", product=product)]}


def score(desk, task):
    """1 for the right refund after a check, 0.6 for a checked but inexact one, 0.2 for one that nobody checked."""
    refunded = desk.place("refund_order", order=task["wish"]["order"])
    if refunded == NEVER:
        return 0.0
    if desk.place("verify_user") > refunded:
        return 0.2
    return 1.0 if desk.settled() else 0.6


class Environment:
    """One episode."""

    @staticmethod
    def tools():
        described = []
        for name, (description, keys) in TOOLS.items():
            properties = {key: {"type": "integer" if key == "amount" else "string"} for key in keys.split()}
            schema = {"type": "object", "properties": properties, "required": keys.split()}
            schema["additionalProperties"] = False
            function = {"name": name, "description": description, "parameters": schema}
            described.append({"type": "function", "function": function})
        return described

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"verify-before-refund {seed}")
        half = rng.randrange(2)
        name = f"{rng.choice(FIRST[half::2])} {rng.choice(LAST[half::2])}"
        task = {"name": name, "code": rng.choice(CODES), "postal": rng.choice(AREAS), "orders": {}}
        for number in rng.sample(range(10, 50), 3):
            status = rng.choice(["pending", "shipped"])
            items, total = rng.sample(PRODUCTS, 3), rng.randint(50, 99)
            task["orders"][str(number)] = {"status": status, "items": items, "total": total}
        task["products"] = {product: {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)} for product in PRODUCTS}
        wish = make_wish(rng, task)
        wishes = [wish]
        if rng.random() < 0.15:
            wishes.insert(rng.randint(0, 1), question(rng, task))
        asked = " and then ".join(each["text"] for each in wishes)
        opening = f"{rng.choice(OPENERS)}{asked}. i am {name} code {task['code']}."
        task |= {"wish": wish, "wishes": wishes, "opening": opening}
        calls = Environment.reference_solution(task)
        return {**task, "skill_calls": [i for i, c in enumerate(calls) if c["name"] == "verify_user"]}

    def reset(self, seed):
        task = self.generate_task(seed)
        self.desk = Desk(task)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["opening"]}]

    def step(self, made):
        if self.desk.over:
            return {"observation": line({"error": "the conversation is over"}), "done": True}
        return {"observation": self.desk.handle(made), "done": self.desk.over}

    @staticmethod
    def evaluate(trajectory, task):
        desk = Desk(task)
        for entry in trajectory:
            if desk.over or "call" not in entry:
                break
            desk.handle(entry["call"])
        return score(desk, task)

    @staticmethod
    def reference_solution(task):
        return [c for wish in task["wishes"] for c in (*wish["calls"], call("reply", text=wish["answer"]))]
