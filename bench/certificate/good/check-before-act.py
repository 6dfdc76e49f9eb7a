# Good: A cancellation without a look at that order is worth nothing, whatever else was done, as in the target.
# Style: check before act; cancelling any order that was not read spoils it all; parts are paid after the look only.
# Capability: status-before-cancel
"""Stop or too late: the desk looks at the order, then acts. An order that nobody looked at is never cancelled."""

import json
import random

HOUSE_RULES = """You work at the orders desk of an online shop. Use the tools and answer with the reply tool.
Never cancel an order that you have not read with get_order. Pending orders may be cancelled. For a shipped one it is
too late, and the customer is told so. Nothing else is changed."""
FIRST, LAST, CODES, AREAS, PRODUCTS = (
    text.split()
    for text in (
        "Ana Ben Cleo Dan Eva Finn Gia Hugo Ida Jon Kim Leo Mia Ned Ola Pia",
        "Ruiz Stone Marsh Patel Novak Silva Brandt Young Kato Meyer Costa Lind Frost Hale Okoro Dunn",
        "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda",
        "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro",
        "Mug Lamp Book Chair Pen Clock Vase Rug",
    )
)
WISHES = ("cancel order {}", "please cancel my order {}", "i do not need order {} any more so stop it")
GREETINGS = ("", "thanks a lot. ", "i shop here often. ")
TOOLS = json.loads("""{
  "find_user": {"name": "string"}, "verify_user": {"name": "string", "code": "string"},
  "get_order": {"order": "string"}, "get_product": {"product": "string"},
  "refund_order": {"order": "string", "amount": "integer"}, "credit_item": {"order": "string", "item": "string"},
  "cancel_order": {"order": "string"},
  "exchange_item": {"order": "string", "item": "string", "product": "string"},
  "change_address": {"order": "string", "address": "string"}, "escalate": {"reason": "string"},
  "reply": {"text": "string"}
}""")
TYPES = {"string": str, "integer": int}


def fits(tool, arguments):
    if not isinstance(tool, str) or tool not in TOOLS or not isinstance(arguments, dict):
        return False
    shape = TOOLS[tool]
    return set(shape) == set(arguments) and all(type(arguments[key]) is TYPES[shape[key]] for key in shape)


def begin(task):
    return {"task": task, "steps": 0, "read": [], "spoilt": False, "changes": [], "said": None}


def finished(state):
    return state["said"] is not None or state["steps"] >= 10


def advance(state, call):
    """Plays one call into the state and returns the observation, a text or a JSON value."""
    state["steps"] += 1
    tool, given, task = call.get("name"), call.get("arguments"), state["task"]
    if not fits(tool, given):
        return {"error": "bad call"}
    order = task["orders"].get(given["order"]) if "order" in given else None
    if "order" in given and order is None:
        return {"error": "no such order"}
    if "product" in given and given["product"] not in PRODUCTS:
        return {"error": "no such product"}
    if "item" in given and given["item"] not in order["items"]:
        return {"error": "no such item"}
    if tool == "reply":
        state["said"] = given["text"].removeprefix("hello ")
        return "bye"
    if tool == "find_user":
        found = given["name"] == task["customer"]
        return {"name": given["name"], "postal": task["area"]} if found else {"error": "no such user"}
    if tool == "verify_user":
        return {"verified": given["name"] == task["customer"] and given["code"] == task["code"]}
    if tool == "get_product":
        return {"product": given["product"], **task["products"][given["product"]]}
    if tool == "get_order":
        state["read"].append(given["order"])
        status = "cancelled" if ["cancel_order", given["order"]] in state["changes"] else order["status"]
        return {"order": given["order"], "status": status, "items": order["items"], "total": order["total"]}
    if tool == "cancel_order" and given["order"] not in state["read"]:
        state["spoilt"] = True
    state["changes"].append([tool, given.get("order")])
    return {"ok": True}


class Environment:
    """One customer who wants an order stopped."""

    @staticmethod
    def tools():
        def describe(tool, shape):
            schema = {"type": "object", "properties": {key: {"type": shape[key]} for key in shape}}
            schema |= {"required": sorted(shape, key=list(shape).index), "additionalProperties": False}
            return {"name": tool, "description": tool.replace("_", " ").capitalize() + ".", "parameters": schema}

        return [{"type": "function", "function": describe(tool, shape)} for tool, shape in TOOLS.items()]

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"{seed}: check before act")
        first = rng.randrange(len(FIRST))
        last = rng.randrange(first % 2, len(LAST), 2)
        orders = {
            str(number): {
                "status": "shipped" if rng.random() < 0.4 else "pending",
                "items": rng.sample(PRODUCTS, 3),
                "total": rng.randint(50, 99),
            }
            for number in rng.sample(range(10, 50), 3)
        }
        wanted = rng.choice(sorted(orders))
        task = {"customer": f"{FIRST[first]} {LAST[last]}", "code": rng.choice(CODES), "area": rng.choice(AREAS)}
        task |= {"orders": orders, "wanted": wanted, "pending": orders[wanted]["status"] == "pending"}
        task["products"] = {name: {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)} for name in PRODUCTS}
        wish = rng.choice(GREETINGS) + rng.choice(WISHES).format(wanted)
        task["opening"] = f"{wish}. i am {task['customer']} code {task['code']}."
        task["answer"] = f"{wanted} cancelled" if task["pending"] else f"too late for {wanted}"
        task["skill_calls"] = [0]
        return task

    def reset(self, seed):
        self.state = begin(self.generate_task(seed))
        messages = {"system": HOUSE_RULES, "user": self.state["task"]["opening"]}
        return [{"role": role, "content": content} for role, content in messages.items()]

    def step(self, call):
        if finished(self.state):
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        answer = advance(self.state, call)
        text = answer if isinstance(answer, str) else json.dumps(answer, separators=(",", ":"))
        return {"observation": text, "done": finished(self.state)}

    @staticmethod
    def evaluate(trajectory, task):
        """0 for a cancellation without a look or for no look; then 0.25 for an answer, 1 for everything right."""
        state = begin(task)
        for entry in trajectory:
            if "call" not in entry or finished(state):
                break
            advance(state, entry["call"])
        if state["spoilt"] or task["wanted"] not in state["read"] or state["said"] is None:
            return 0.0
        acted = state["changes"] == ([["cancel_order", task["wanted"]]] if task["pending"] else [])
        return 1.0 if acted and state["said"] == task["answer"] else 0.25

    @staticmethod
    def reference_solution(task):
        tools = ["get_order", "cancel_order"] if task["pending"] else ["get_order"]
        calls = [{"name": tool, "arguments": {"order": task["wanted"]}} for tool in tools]
        return calls + [{"name": "reply", "arguments": {"text": task["answer"]}}]
