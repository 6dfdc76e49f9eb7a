"""Cancellations at a shop's desk, to practise one thing: read the order first, and let its status decide.

About half of the orders have left already and must not be cancelled, so that refusing or agreeing without a look is
wrong half of the time. The tools, the observations and the tone are the agent's own, only customers, orders and
requests are invented here, so a habit of calling get_order before cancel_order carries over as it is.
"""

import json
import random

SYSTEM = """You work at the orders desk of a shop. Use the tools; answer with the reply tool.
Read an order with get_order before you cancel it. Cancel it only if it is pending; if it is shipped, say that it
is too late. Change nothing else. One reply per request."""

# Two circles of customers: a first name goes with the surnames of its own circle.
CIRCLES = [
    ("Ana Cleo Eva Gia Ida Kim Mia Ola".split(), "Ruiz Marsh Novak Brandt Kato Costa Frost Okoro".split()),
    ("Ben Dan Finn Hugo Jon Leo Ned Pia".split(), "Stone Patel Silva Young Meyer Lind Hale Dunn".split()),
]
CODES = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
AREAS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
CATALOGUE = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
REQUESTS = [
    "cancel order {order}",
    "please cancel my order {order}",
    "i do not need order {order} any more so stop it",
]
SIDE_QUESTIONS = {
    "track": ["where is order {order}", "what is the status of order {order}", "has order {order} left yet"],
    "price": ["how much is the {product}", "price of the {product} please", "what does the {product} cost"],
}
OPENERS = ["", "thanks a lot. ", "i am in a hurry. ", "i shop here often. "]
SIDE_SHARE = 0.08
MAX_CALLS = 10

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
SIGNATURES = {
    "find_user": ("Finds a customer by full name.", {"name": TEXT}),
    "verify_user": ("Checks a customer's code.", {"name": TEXT, "code": TEXT}),
    "get_order": ("Reads an order: status, items, total.", {"order": TEXT}),
    "get_product": ("Reads a product: price and stock.", {"product": TEXT}),
    "refund_order": ("Pays back an order.", {"order": TEXT, "amount": WHOLE}),
    "credit_item": ("Credits one item of an order.", {"order": TEXT, "item": TEXT}),
    "cancel_order": ("Cancels an order.", {"order": TEXT}),
    "exchange_item": ("Exchanges one item of an order.", {"order": TEXT, "item": TEXT, "product": TEXT}),
    "change_address": ("Sets the delivery address of an order.", {"order": TEXT, "address": TEXT}),
    "escalate": ("Hands the case to a human colleague as well.", {"reason": TEXT}),
    "reply": ("Says something to the customer.", {"text": TEXT}),
}
PARAMETERS = {
    "name": "First and last name.",
    "code": "Code word that the customer gave.",
    "order": "Order number, e.g. 41.",
    "item": "Product name, e.g. Mug.",
    "product": "Product name, e.g. Mug.",
    "amount": "Whole currency units.",
    "address": "Address line.",
    "reason": "One word.",
    "text": "The answer.",
}


def _line(value):
    return json.dumps(value, separators=(",", ":"))


def _fits(name, given):
    """True when a call names a tool and gives it every argument, in the right type."""
    if not isinstance(name, str) or name not in SIGNATURES or not isinstance(given, dict):
        return False
    wanted = SIGNATURES[name][1]
    kinds = {"string": str, "integer": int}
    return set(given) == set(wanted) and all(type(given[key]) is kinds[wanted[key]["type"]] for key in wanted)


class _Desk:
    """The shop during one episode. `changes` lists every change made, as (tool, arguments, what had been looked up)."""

    def __init__(self, task):
        self.task = task
        self.seen = set()
        self.changes = []
        self.replies = []
        self.calls = 0
        self.over = False

    def handle(self, call):
        """Answers one call; the conversation ends with the last reply, or after MAX_CALLS calls."""
        self.calls += 1
        name, given = call.get("name"), call.get("arguments")
        observation = self._answer(name, given) if _fits(name, given) else _line({"error": "bad call"})
        self.over = self.over or self.calls >= MAX_CALLS
        return {"observation": observation, "done": self.over}

    def _answer(self, name, given):
        task = self.task
        if name == "reply":
            return self._hear(given["text"])
        if "order" in given and given["order"] not in task["orders"]:
            return _line({"error": "no such order"})
        if "product" in given and given["product"] not in task["prices"]:
            return _line({"error": "no such product"})
        if "item" in given and given["item"] not in task["orders"][given["order"]]["items"]:
            return _line({"error": "no such item"})
        if name == "find_user":
            known = given["name"] == task["name"]
            return _line({"name": task["name"], "postal": task["area"]} if known else {"error": "no such user"})
        if name == "verify_user":
            verified = (given["name"], given["code"]) == (task["name"], task["code"])
            if verified:
                self.seen.add("identity")
            return _line({"verified": verified})
        if name == "get_product":
            price, stock = task["prices"][given["product"]]
            return _line({"product": given["product"], "price": price, "stock": stock})
        if name == "get_order":
            order = given["order"]
            self.seen.add(order)
            stopped = any(tool == "cancel_order" and made["order"] == order for tool, made, _ in self.changes)
            state = {"order": order, **task["orders"][order]}
            return _line({**state, "status": "cancelled"} if stopped else state)
        self.changes.append((name, given, frozenset(self.seen)))
        return _line({"ok": True})

    def _hear(self, text):
        self.replies.append(text.removeprefix("hello "))
        wishes = self.task["wishes"]
        if len(self.replies) < len(wishes):
            return f"thanks. now the other thing: {wishes[len(self.replies)]['text']}."
        self.over = True
        return "bye"

    def answered(self):
        """True when every wish got the reply that it calls for, and no other was given."""
        return self.replies == [wish["answer"] for wish in self.task["wishes"]]


def _wish(rng, number, order):
    """A cancellation to ask for."""
    pending = order["status"] == "pending"
    text = rng.choice(REQUESTS).format(order=number)
    answer = f"{number} cancelled" if pending else f"too late for {number}"
    return {"kind": "cancel", "text": text, "answer": answer, "order": number, "pending": pending}


def _solve(wish, task):
    read = {"name": "get_order", "arguments": {"order": wish["order"]}}
    return [read] + [{"name": "cancel_order", "arguments": {"order": wish["order"]}}] * wish["pending"]


def _side_question(rng, orders, prices, number):
    """A question that needs one look-up and no change."""
    kind = rng.choice(sorted(SIDE_QUESTIONS))
    product = rng.choice(CATALOGUE)
    text = rng.choice(SIDE_QUESTIONS[kind]).format(order=number, product=product)
    if kind == "track":
        look = {"name": "get_order", "arguments": {"order": number}}
        return {"kind": kind, "text": text, "answer": f"{number} is {orders[number]['status']}", "look": look}
    look = {"name": "get_product", "arguments": {"product": product}}
    return {"kind": kind, "text": text, "answer": f"the {product} costs {prices[product][0]}", "look": look}


class Environment:
    """One episode."""

    def __init__(self):
        self._desk = None

    @staticmethod
    def tools():
        """The agent's tools."""
        described = []
        for name, (description, properties) in SIGNATURES.items():
            parameters = {
                "type": "object",
                "properties": {key: {**schema, "description": PARAMETERS[key]} for key, schema in properties.items()},
                "required": list(properties),
                "additionalProperties": False,
            }
            function = {"name": name, "description": description, "parameters": parameters}
            described.append({"type": "function", "function": function})
        return described

    @staticmethod
    def generate_task(seed):
        """The hidden task of a seed."""
        rng = random.Random(f"status-before-cancel/{seed}")
        firsts, surnames = rng.choice(CIRCLES)
        name, code, area = f"{rng.choice(firsts)} {rng.choice(surnames)}", rng.choice(CODES), rng.choice(AREAS)
        numbers = [str(number) for number in rng.sample(range(10, 50), 3)]
        orders = {}
        for number in numbers:
            status = "shipped" if rng.random() < 0.5 else "pending"
            orders[number] = {"status": status, "items": rng.sample(CATALOGUE, 3), "total": rng.randint(50, 99)}
        prices = {product: [rng.randint(50, 99), rng.randint(0, 9)] for product in CATALOGUE}
        wishes = [_wish(rng, numbers[0], orders[numbers[0]])]
        if rng.random() < SIDE_SHARE:
            wishes.insert(rng.randint(0, 1), _side_question(rng, orders, prices, numbers[1]))
        asked = " and then ".join(wish["text"] for wish in wishes)
        opening = f"{rng.choice(OPENERS)}{asked}. i am {name} code {code}."
        customer = {"name": name, "code": code, "area": area}
        task = {**customer, "orders": orders, "prices": prices, "wishes": wishes, "opening": opening}
        calls = Environment.reference_solution(task)
        wish = next(wish for wish in wishes if "look" not in wish)
        return {
            **task,
            "skill_calls": [
                place
                for place, call in enumerate(calls)
                if call == {"name": "get_order", "arguments": {"order": wish["order"]}}
            ],
        }

    def reset(self, seed):
        """Opens the episode of a seed."""
        task = self.generate_task(seed)
        self._desk = _Desk(task)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["opening"]}]

    def step(self, call):
        """Runs one tool call."""
        if self._desk is None:
            raise RuntimeError("step needs an episode; call reset(seed) first")
        if self._desk.over:
            return {"observation": _line({"error": "the conversation is over"}), "done": True}
        return self._desk.handle(call)

    @staticmethod
    def evaluate(trajectory, task):
        """1 for an order that was read and then treated as its status asks, less for parts of it, 0 for none.

        Cancelling the right order unread earns 0.15. An order that was read first and then treated or answered wrongly
        earns 0.4, but only once the customer was answered.
        """
        desk = _Desk(task)
        for entry in trajectory:
            if desk.over or "call" not in entry:
                break
            desk.handle(entry["call"])
        wish = next(wish for wish in task["wishes"] if wish["kind"] == "cancel")
        order = wish["order"]
        cancelled = [seen for name, made, seen in desk.changes if name == "cancel_order" and made["order"] == order]
        if any(order not in seen for seen in cancelled):
            return 0.15
        if order not in desk.seen or not desk.replies:
            return 0.0
        exact = len(cancelled) == len(desk.changes) == int(wish["pending"])
        return 1.0 if exact and desk.answered() else 0.4

    @staticmethod
    def reference_solution(task):
        """Calls that earn reward 1."""
        calls = []
        for wish in task["wishes"]:
            calls += [wish["look"]] if "look" in wish else _solve(wish, task)
            calls.append({"name": "reply", "arguments": {"text": wish["answer"]}})
        return calls
