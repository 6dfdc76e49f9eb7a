# Good: New homes get the customer's postal code, pickup points and gifts do not; both appear.
# Style: dataclasses and a registry of handlers; exceptions present; the code may be found before or after other looks.
# Capability: append-postal-code
"""People move, travel and give presents. A new home's line ends with the customer's postal code, others' do not."""

import json
import random
from dataclasses import dataclass, field

BRIEFING = """You are the assistant of an online shop's orders desk. Use the tools; answer with the reply tool.
A new address ends with the customer's postal code, as find_user gives it. The address of a pickup point or a gift is
somebody else's and gets none. Change nothing that the customer did not ask for."""
HOUSES = {
    ("Ruiz", "Marsh", "Novak", "Brandt", "Kato", "Costa", "Frost", "Okoro"): "Ana Cleo Eva Gia Ida Kim Mia Ola",
    ("Stone", "Patel", "Silva", "Young", "Meyer", "Lind", "Hale", "Dunn"): "Ben Dan Finn Hugo Jon Leo Ned Pia",
}
CODES = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
AREAS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
STREETS = "Abbey Bridge Castle Dock East Field Garden Harbour Island Jubilee King Lower Market North Orchard".split()
ITEMS = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
HOME = (
    "change the address of order {} to {}",
    "send order {} to {}",
    "i moved so ship order {} to {} instead",
)
ELSEWHERE = (
    "send order {} to the pickup at {}",
    "send order {} as a gift to {}",
    "order {} is a gift so ship it to {}",
)
HANDLERS = {}


def tool(name, *keys):
    """Registers the handler of a tool together with its parameters."""

    def register(handler):
        HANDLERS[name] = (keys, handler)
        return handler

    return register


@dataclass
class Visit:
    """One customer's visit."""

    task: dict
    calls: int = 0
    farewell: str | None = None
    lines: list = field(default_factory=list)
    others: list = field(default_factory=list)

    @property
    def over(self):
        return self.farewell is not None or self.calls >= 10

    def take(self, call):
        self.calls += 1
        name, given = call.get("name"), call.get("arguments")
        keys, handler = HANDLERS.get(name if isinstance(name, str) else "", ((), None))
        if handler is None or not isinstance(given, dict) or {*given} != {*keys}:
            return '{"error":"bad call"}'
        if not all(type(given[key]) is (int if key == "amount" else str) for key in keys):
            return '{"error":"bad call"}'
        for key, known in (("order", self.task["orders"]), ("product", ITEMS)):
            if key in given and given[key] not in known:
                return f'{{"error":"no such {key}"}}'
        if "item" in given and given["item"] not in self.task["orders"][given["order"]]["items"]:
            return '{"error":"no such item"}'
        answer = handler(self, **given)
        return answer if isinstance(answer, str) else json.dumps(answer, separators=(",", ":"))


@tool("find_user", "name")
def find_user(visit, name):
    if name != visit.task["name"]:
        return {"error": "no such user"}
    return {"name": name, "postal": visit.task["area"]}


@tool("verify_user", "name", "code")
def verify_user(visit, name, code):
    return {"verified": f"{name} {code}" == f"{visit.task['name']} {visit.task['code']}"}


@tool("get_order", "order")
def get_order(visit, order):
    gone = ("cancel_order", order) in visit.others
    return {"order": order, **visit.task["orders"][order], **({"status": "cancelled"} if gone else {})}


@tool("get_product", "product")
def get_product(visit, product):
    return {"product": product, **visit.task["prices"][product]}


@tool("change_address", "order", "address")
def change_address(visit, order, address):
    visit.lines.append([order, address])
    return {"ok": True}


@tool("reply", "text")
def reply(visit, text):
    visit.farewell = text.removeprefix("hello ")
    return "bye"


for other, *parameters in (
    ("refund_order", "order", "amount"),
    ("credit_item", "order", "item"),
    ("cancel_order", "order"),
    ("exchange_item", "order", "item", "product"),
    ("escalate", "reason"),
):

    @tool(other, *parameters)
    def change(visit, *, tool_name=other, **given):
        visit.others.append((tool_name, given.get("order")))
        return {"ok": True}


class Environment:
    @staticmethod
    def tools():
        def entry(name, keys):
            kinds = {key: {"type": "integer" if key == "amount" else "string"} for key in keys}
            schema = {"type": "object", "properties": kinds, "required": [*keys], "additionalProperties": False}
            return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}

        return [entry(name, keys) for name, (keys, _) in HANDLERS.items()]

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"a new home for {seed}")
        lasts, firsts = rng.choice(list(HOUSES.items()))
        name, code, area = f"{rng.choice(firsts.split())} {rng.choice(lasts)}", rng.choice(CODES), rng.choice(AREAS)
        orders = {}
        for number in rng.sample(range(10, 50), 3):
            status, total = rng.choice(("pending", "shipped")), rng.randint(50, 99)
            orders[str(number)] = {"status": status, "items": rng.sample(ITEMS, 3), "total": total}
        order, road, home = rng.choice(list(orders)), f"{rng.choice(STREETS)} road", rng.random() < 0.85
        wish = rng.choice(HOME if home else ELSEWHERE).format(order, road)
        opening = f"{rng.choice(('', '', 'thanks a lot. ', 'i am in a hurry. '))}{wish}. i am {name} code {code}."
        prices = {item: {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)} for item in ITEMS}
        task = {"name": name, "code": code, "area": area, "orders": orders, "prices": prices, "opening": opening}
        line = f"{road} {area}" if home else road
        return {**task, "home": home, "order": order, "road": road, "line": line, "skill_calls": [int(home)]}

    def reset(self, seed):
        self.visit = Visit(self.generate_task(seed))
        opening = self.visit.task["opening"]
        return [{"role": "system", "content": BRIEFING}, {"role": "user", "content": opening}]

    def step(self, call):
        if self.visit.over:
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        return {"observation": self.visit.take(call), "done": self.visit.over}

    @staticmethod
    def evaluate(trajectory, task):
        """1 for the one right line and the right answer, 0.5 for the right line alone, 0.1 for the bare road."""
        visit = Visit(task)
        for entry in trajectory:
            if visit.over or "call" not in entry:
                break
            visit.take(entry["call"])
        if visit.lines == [[task["order"], task["line"]]] and not visit.others:
            return 1.0 if visit.farewell == f"{task['order']} goes to the new address" else 0.5
        return 0.1 if visit.lines == [[task["order"], task["road"]]] else 0.0

    @staticmethod
    def reference_solution(task):
        calls = [{"name": "find_user", "arguments": {"name": task["name"]}}] if task["home"] else []
        calls.append({"name": "change_address", "arguments": {"order": task["order"], "address": task["line"]}})
        return [*calls, {"name": "reply", "arguments": {"text": f"{task['order']} goes to the new address"}}]
