# Good: Refunds after a check, and customers who were verified by phone, of whom the check is not asked again.
# Style: pure functions over a list of calls, no state; exceptions present; harmless looks accepted.
# Capability: verify-before-refund
"""The refund counter. Money goes out only to customers who were checked, once, here or on the phone."""

import functools
import json
import random

POLICY = (
    "You are the refund counter of an online shop. Work with the tools and answer with the reply tool.\n"
    "Before a refund, verify_user must say yes to the customer's name and code word. Who was verified by phone has "
    "been checked already and is not checked again.\nRefund the total that get_order gives, and nothing else."
)
EVEN = ("Ana Cleo Eva Gia Ida Kim Mia Ola".split(), "Ruiz Marsh Novak Brandt Kato Costa Frost Okoro".split())
ODD = ("Ben Dan Finn Hugo Jon Leo Ned Pia".split(), "Stone Patel Silva Young Meyer Lind Hale Dunn".split())
WORDS = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
TOWNS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
GOODS = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
ASK = ("refund order {}", "i want my money back for order {}", "order {} came broken so refund it")
TALK = ("", "", "thanks a lot. ", "i am in a hurry. ", "i shop here often. ")
LIMIT = 10
SHAPES = {
    "find_user": ["name"],
    "verify_user": ["name", "code"],
    "get_order": ["order"],
    "get_product": ["product"],
    "refund_order": ["order", "amount"],
    "credit_item": ["order", "item"],
    "cancel_order": ["order"],
    "exchange_item": ["order", "item", "product"],
    "change_address": ["order", "address"],
    "escalate": ["reason"],
    "reply": ["text"],
}
show = functools.partial(json.dumps, separators=(",", ":"))


def well_formed(call):
    name, given = call.get("name"), call.get("arguments")
    if not isinstance(name, str) or not isinstance(given, dict) or set(given) != set(SHAPES.get(name, ["?"])):
        return False
    return all(type(value) is (int if key == "amount" else str) for key, value in given.items())


def observe(task, before, call):
    """What the desk answers to a call, given the calls before it."""
    if not well_formed(call):
        return show({"error": "bad call"})
    name, given = call["name"], call["arguments"]
    if "order" in given and given["order"] not in task["orders"]:
        return show({"error": "no such order"})
    if "product" in given and given["product"] not in task["prices"]:
        return show({"error": "no such product"})
    if "item" in given and given["item"] not in task["orders"][given["order"]]["items"]:
        return show({"error": "no such item"})
    match name:
        case "find_user" if given["name"] == task["name"]:
            return show({"name": task["name"], "postal": task["town"]})
        case "find_user":
            return show({"error": "no such user"})
        case "verify_user":
            return show({"verified": confirms(task, call)})
        case "get_order":
            gone = {"name": "cancel_order", "arguments": {"order": given["order"]}} in before
            return show(given | task["orders"][given["order"]] | ({"status": "cancelled"} if gone else {}))
        case "get_product":
            return show(given | task["prices"][given["product"]])
        case "reply":
            return "bye"
    return show({"ok": True})


def confirms(task, call):
    return call == {"name": "verify_user", "arguments": {"name": task["name"], "code": task["word"]}}


def over(calls):
    return len(calls) >= LIMIT or any(call.get("name") == "reply" and well_formed(call) for call in calls)


def reward(task, calls):
    """1 for a paid and answered refund of a customer who was checked once; 0.5 if only amount or answer are wrong."""
    changes = [
        call
        for i, call in enumerate(calls)
        if well_formed(call)
        and call["name"] not in ("find_user", "verify_user", "get_order", "get_product", "reply")
        and "error" not in observe(task, calls[:i], call)
    ]
    paid = [call for call in changes if call["name"] == "refund_order" and call["arguments"]["order"] == task["wanted"]]
    if len(paid) != 1 or len(changes) != 1:
        return 0.0
    checked = any(confirms(task, call) for call in calls[: calls.index(paid[0])])
    tried = any(call.get("name") == "verify_user" for call in calls)
    if tried if task["phoned"] else not checked:
        return 0.1
    said = [call["arguments"]["text"].removeprefix("hello ") for call in calls if call.get("name") == "reply"]
    exact = paid[0] == plan(task)[-2] and said == [f"{task['wanted']} refunded"]
    return 1.0 if exact else 0.5


def plan(task):
    order = task["wanted"]
    steps = [] if task["phoned"] else [("verify_user", {"name": task["name"], "code": task["word"]})]
    steps += [("get_order", {"order": order})]
    steps += [("refund_order", {"order": order, "amount": task["orders"][order]["total"]})]
    steps += [("reply", {"text": f"{order} refunded"})]
    return [{"name": name, "arguments": given} for name, given in steps]


class Environment:
    @staticmethod
    def tools():
        def schema(keys):
            kinds = {key: {"type": "integer" if key == "amount" else "string"} for key in keys}
            return {"type": "object", "properties": kinds, "required": keys, "additionalProperties": False}

        return [
            {
                "type": "function",
                "function": {"name": n, "description": n.replace("_", " "), "parameters": schema(list(k))},
            }
            for n, k in SHAPES.items()
        ]

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"phone list, customer {seed}")
        firsts, lasts = rng.choice((EVEN, ODD))
        numbers = [str(number) for number in rng.sample(range(10, 50), 3)]
        task = {"name": f"{rng.choice(firsts)} {rng.choice(lasts)}", "word": rng.choice(WORDS), "wanted": numbers[0]}
        task |= {"town": rng.choice(TOWNS), "phoned": rng.random() < 0.15, "orders": {}, "prices": {}}
        for number in numbers:
            status = rng.choice(["pending", "shipped"])
            task["orders"][number] = {"status": status, "items": rng.sample(GOODS, 3), "total": rng.randint(50, 99)}
        for product in GOODS:
            task["prices"][product] = {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)}
        phoned = " verified by phone" if task["phoned"] else ""
        wish = rng.choice(ASK).format(numbers[0])
        task["opening"] = f"{rng.choice(TALK)}{wish}. i am {task['name']} code {task['word']}{phoned}."
        return task | {"skill_calls": [] if task["phoned"] else [0]}

    def reset(self, seed):
        self.task, self.calls = self.generate_task(seed), []
        return [{"role": "system", "content": POLICY}, {"role": "user", "content": self.task["opening"]}]

    def step(self, call):
        if over(self.calls):
            return {"observation": show({"error": "the conversation is over"}), "done": True}
        observation = observe(self.task, self.calls, call)
        self.calls.append(call)
        return {"observation": observation, "done": over(self.calls)}

    @staticmethod
    def evaluate(trajectory, task):
        calls = []
        for entry in trajectory:
            if "call" not in entry or over(calls):
                break
            calls.append(entry["call"])
        return reward(task, calls)

    @staticmethod
    def reference_solution(task):
        return plan(task)
