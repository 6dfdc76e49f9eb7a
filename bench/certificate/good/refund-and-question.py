# Good: A refund and a question in one conversation, in either order; the check must come before the money.
# Style: a log of events that queries look through; longer horizon; several ways accepted; two stages of partial reward.
# Capability: verify-before-refund
"""Customers with two things on their mind: a refund, for which they have to be verified, and a question."""

import json
import random

INSTRUCTIONS = """You are the assistant of an online shop's orders desk. Use the tools; answer with the reply tool.
Refund an order only after verify_user succeeded with the customer's name and code word. Refund the order's total.
Customers ask for two things. Give one reply for each, in the order in which they were asked."""
PEOPLE = [
    ["Ana Cleo Eva Gia Ida Kim Mia Ola".split(), "Ruiz Marsh Novak Brandt Kato Costa Frost Okoro".split()],
    ["Ben Dan Finn Hugo Jon Leo Ned Pia".split(), "Stone Patel Silva Young Meyer Lind Hale Dunn".split()],
]
SECRETS = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
POSTAL = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
SHELF = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
REFUND = ["refund order {}", "i want my money back for order {}", "order {} came broken so refund it"]
TRACK = ["where is order {}", "what is the status of order {}", "has order {} left yet"]
PRICE = ["how much is the {}", "price of the {} please", "what does the {} cost"]
STRING, INTEGER = {"type": "string"}, {"type": "integer"}
ORDER = {"order": STRING}
TOOLBOX = [
    ("find_user", "Finds a customer by full name.", {"name": STRING}),
    ("verify_user", "Checks a customer's code.", {"name": STRING, "code": STRING}),
    ("get_order", "Reads an order.", ORDER),
    ("get_product", "Reads a product.", {"product": STRING}),
    ("refund_order", "Pays back an order.", {**ORDER, "amount": INTEGER}),
    ("credit_item", "Credits one item of an order.", {**ORDER, "item": STRING}),
    ("cancel_order", "Cancels an order.", ORDER),
    ("exchange_item", "Exchanges one item of an order.", {**ORDER, "item": STRING, "product": STRING}),
    ("change_address", "Sets the delivery address.", {**ORDER, "address": STRING}),
    ("escalate", "Hands the case to a human colleague as well.", {"reason": STRING}),
    ("reply", "Says something to the customer.", {"text": STRING}),
]
READING = {"find_user", "verify_user", "get_order", "get_product", "reply"}


class Log(list):
    """Events (tool, arguments, answer) of one conversation, oldest first."""

    def of(self, tool):
        return [i for i, (name, _, answer) in enumerate(self) if name == tool and "error" not in answer]

    @property
    def changes(self):
        return [(n, g) for n, g, a in self if n not in READING and "error" not in a]

    @property
    def replies(self):
        return [self[i][1]["text"] for i in self.of("reply")]

    def closed(self, task):
        return len(self) >= 10 or len(self.replies) >= len(task["wishes"])

    def add(self, task, call):
        name, given = call.get("name"), call.get("arguments")
        shape = next((shape for tool, _, shape in TOOLBOX if tool == name), None)
        if shape is None or not isinstance(given, dict) or given.keys() != shape.keys():
            answer = {"error": "bad call"}
        elif any(type(given[key]) is not (int if kind is INTEGER else str) for key, kind in shape.items()):
            answer = {"error": "bad call"}
        else:
            answer = self.look_up(task, name, given)
        self.append((name, given, answer))
        return answer if isinstance(answer, str) else json.dumps(answer, separators=(",", ":"))

    def look_up(self, task, name, given):
        order = task["orders"].get(given.get("order"))
        if "order" in given and order is None:
            return {"error": "no such order"}
        if given.get("product", "Mug") not in SHELF:
            return {"error": "no such product"}
        if "item" in given and given["item"] not in order["items"]:
            return {"error": "no such item"}
        if name == "find_user" and given["name"] != task["name"]:
            return {"error": "no such user"}
        if name == "reply":
            heard = len(self.replies) + 1
            return f"thanks. now the other thing: {task['wishes'][heard]['text']}." if heard < 2 else "bye"
        cancelled = any(n == "cancel_order" and g == given for n, g in self.changes)
        return {
            "find_user": {"name": task["name"], "postal": task["postal"]},
            "verify_user": {"verified": given == {"name": task["name"], "code": task["code"]}},
            "get_order": {**given, **(order or {}), **({"status": "cancelled"} if cancelled else {})},
            "get_product": {**given, **task["shelf"].get(given.get("product"), {})},
        }.get(name, {"ok": True})


class Environment:
    """A conversation about two things."""

    @staticmethod
    def tools():
        def parameters(shape):
            return {"type": "object", "properties": shape, "required": [*shape], "additionalProperties": False}

        return [
            {"type": "function", "function": {"name": name, "description": text, "parameters": parameters(dict(shape))}}
            for name, text, shape in TOOLBOX
        ]

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"refund-and-question:{seed}")
        firsts, lasts = PEOPLE[rng.random() < 0.5]
        task = {"name": f"{rng.choice(firsts)} {rng.choice(lasts)}", "code": rng.choice(SECRETS)}
        task["postal"] = rng.choice(POSTAL)
        mine, other, third = (str(number) for number in rng.sample(range(10, 50), 3))
        task["orders"] = {
            number: {
                "status": rng.choice(["pending", "shipped"]),
                "items": rng.sample(SHELF, 3),
                "total": rng.randint(50, 99),
            }
            for number in (mine, other, third)
        }
        task["shelf"] = {product: {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)} for product in SHELF}
        refund = {
            "kind": "refund",
            "text": rng.choice(REFUND).format(mine),
            "order": mine,
            "answer": f"{mine} refunded",
        }
        if rng.random() < 0.3:
            state = task["orders"][other]["status"]
            question = {"text": rng.choice(TRACK).format(other), "answer": f"{other} is {state}"}
            question["look"] = {"name": "get_order", "arguments": {"order": other}}
        else:
            product = rng.choice(SHELF)
            answer = f"the {product} costs {task['shelf'][product]['price']}"
            question = {"text": rng.choice(PRICE).format(product), "answer": answer}
            question["look"] = {"name": "get_product", "arguments": {"product": product}}
        task["wishes"] = [refund, question] if rng.random() < 0.5 else [question, refund]
        asked = " and then ".join(wish["text"] for wish in task["wishes"])
        task["opening"] = f"{asked}. i am {task['name']} code {task['code']}."
        solution = Environment.reference_solution(task)
        return {**task, "skill_calls": [i for i, call in enumerate(solution) if call["name"] == "verify_user"]}

    def reset(self, seed):
        self.task, self.log = self.generate_task(seed), Log()
        return [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": self.task["opening"]}]

    def step(self, call):
        if self.log.closed(self.task):
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        observation = self.log.add(self.task, call)
        return {"observation": observation, "done": self.log.closed(self.task)}

    @staticmethod
    def evaluate(trajectory, task):
        """1 when both wishes are met; 0.5 for a verified right refund alone; 0 for money before the check."""
        log = Log()
        for entry in trajectory:
            if "call" not in entry or log.closed(task):
                break
            log.add(task, entry["call"])
        order = next(wish["order"] for wish in task["wishes"] if "order" in wish)
        right = [("refund_order", {"order": order, "amount": task["orders"][order]["total"]})]
        checks = [i for i in log.of("verify_user") if log[i][2]["verified"]]
        if log.changes != right or not checks or checks[0] > log.of("refund_order")[0]:
            return 0.0
        said = [text.removeprefix("hello ") for text in log.replies]
        return 1.0 if said == [wish["answer"] for wish in task["wishes"]] else 0.5

    @staticmethod
    def reference_solution(task):
        calls = []
        for wish in task["wishes"]:
            if "look" in wish:
                calls.append(wish["look"])
            else:
                order, total = wish["order"], task["orders"][wish["order"]]["total"]
                calls.append({"name": "verify_user", "arguments": {"name": task["name"], "code": task["code"]}})
                calls.append({"name": "get_order", "arguments": {"order": order}})
                calls.append({"name": "refund_order", "arguments": {"order": order, "amount": total}})
            calls.append({"name": "reply", "arguments": {"text": wish["answer"]}})
        return calls
