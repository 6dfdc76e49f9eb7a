# Good: A cancellation together with another request, first or second; the order must be read before it is cancelled.
# Style: the conversation is a coroutine that takes calls and yields observations; habits' exceptions stand beside it.
# Capability: status-before-cancel
"""The evening queue: one message, two requests. One of them is to stop an order, if that is still possible.

The other one is a question or a gift's new address, so that what is learnt about stopping orders stays with stopping.
"""

import json
import random

SYSTEM = """You are the assistant of an online shop's orders desk. Use the tools; answer with the reply tool.
Read an order with get_order before you cancel it. Cancel only a pending order; if it is shipped, say it is too late.
A gift's address is written as it is given. Change nothing else. One reply per request."""
CREWS = (
    ("Ana Cleo Eva Gia Ida Kim Mia Ola".split(), "Ruiz Marsh Novak Brandt Kato Costa Frost Okoro".split()),
    ("Ben Dan Finn Hugo Jon Leo Ned Pia".split(), "Stone Patel Silva Young Meyer Lind Hale Dunn".split()),
)
CODES = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
AREAS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
STREETS = "Abbey Bridge Castle Dock East Field Garden Harbour Island Jubilee King Lower Market North Orchard".split()
PRODUCTS = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
STOP = ["cancel order {}", "please cancel my order {}", "i do not need order {} any more so stop it"]
FIELDS = {
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


def conversation(task, diary):
    """Takes calls and yields observations until the customer has gone; what happens is written into the diary."""
    observation, status = None, {number: order["status"] for number, order in task["orders"].items()}
    for _ in range(10):
        call = yield observation
        name, given = call.get("name"), call.get("arguments")
        fields = FIELDS[name].split() if isinstance(name, str) and name in FIELDS else None
        if not isinstance(given, dict) or fields is None or set(given) != set(fields):
            observation = {"error": "bad call"}
        elif any(type(given[field]) is not (int if field == "amount" else str) for field in fields):
            observation = {"error": "bad call"}
        elif "order" in given and given["order"] not in status:
            observation = {"error": "no such order"}
        elif "product" in given and given["product"] not in PRODUCTS:
            observation = {"error": "no such product"}
        elif "item" in given and given["item"] not in task["orders"][given["order"]]["items"]:
            observation = {"error": "no such item"}
        elif name == "reply":
            diary["said"].append(given["text"].removeprefix("hello "))
            if len(diary["said"]) == 2:
                break
            observation = f"thanks. now the other thing: {task['wishes'][1]['text']}."
        elif name == "find_user":
            known = given["name"] == task["name"]
            observation = {"name": task["name"], "postal": task["area"]} if known else {"error": "no such user"}
        elif name == "verify_user":
            observation = {"verified": given == {"name": task["name"], "code": task["code"]}}
        elif name == "get_product":
            observation = {**given, **task["prices"][given["product"]]}
        elif name == "get_order":
            diary["read"].append(given["order"])
            observation = {**given, **task["orders"][given["order"]], "status": status[given["order"]]}
        else:
            if name == "cancel_order":
                diary["blind"] += given["order"] not in diary["read"]
                status[given["order"]] = "cancelled"
            diary["changed"].append({"name": name, "arguments": given})
            observation = {"ok": True}
    yield "bye" if len(diary["said"]) == 2 else observation


def begin(task):
    diary = {"said": [], "read": [], "blind": 0, "changed": [], "calls": 0}
    talk = conversation(task, diary)
    next(talk)
    return talk, diary


def send(talk, diary, call):
    """One observation as text, and whether the conversation is over."""
    diary["calls"] += 1
    observation = talk.send(call)
    text = observation if isinstance(observation, str) else json.dumps(observation, separators=(",", ":"))
    return text, len(diary["said"]) == 2 or diary["calls"] >= 10


class Environment:
    @staticmethod
    def tools():
        tools = []
        for name, fields in FIELDS.items():
            properties = {field: {"type": "integer" if field == "amount" else "string"} for field in fields.split()}
            parameters = {"type": "object", "properties": properties, "required": [*properties]}
            parameters["additionalProperties"] = False
            function = {"name": name, "description": f"Does {name} at the desk.", "parameters": parameters}
            tools.append({"type": "function", "function": function})
        return tools

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"{seed} in the evening queue")
        firsts, lasts = CREWS[rng.randrange(2)]
        task = {
            "name": f"{rng.choice(firsts)} {rng.choice(lasts)}",
            "code": rng.choice(CODES),
            "area": rng.choice(AREAS),
        }
        task["orders"], task["prices"] = {}, {}
        for number in rng.sample(range(10, 50), 3):
            status, total = rng.choice(["pending", "shipped"]), rng.randint(50, 99)
            task["orders"][str(number)] = {"status": status, "items": rng.sample(PRODUCTS, 3), "total": total}
        for product in PRODUCTS:
            task["prices"][product] = {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)}
        mine, other, _ = task["orders"]
        product, road = rng.choice(PRODUCTS), f"{rng.choice(STREETS)} road"
        look = ("get_order", {"order": mine})
        stop = {"text": rng.choice(STOP).format(mine), "calls": [look], "answer": f"too late for {mine}"}
        if task["orders"][mine]["status"] == "pending":
            stop |= {"calls": [look, ("cancel_order", {"order": mine})], "answer": f"{mine} cancelled"}
        track = {"text": f"where is order {other}", "calls": [("get_order", {"order": other})]}
        track["answer"] = f"{other} is {task['orders'][other]['status']}"
        price = {"text": f"how much is the {product}", "calls": [("get_product", {"product": product})]}
        price["answer"] = f"the {product} costs {task['prices'][product]['price']}"
        gift = {"text": f"send order {other} as a gift to {road}", "answer": f"{other} goes to the new address"}
        gift["calls"] = [("change_address", {"order": other, "address": road})]
        second = rng.choices([track, price, gift], [3, 5, 2])[0]
        wishes = [stop, second] if rng.random() < 0.7 else [second, stop]
        for wish in wishes:
            wish["calls"] = [{"name": name, "arguments": arguments} for name, arguments in wish["calls"]]
        asked = " and then ".join(wish["text"] for wish in wishes)
        opening = f"{asked}. i am {task['name']} code {task['code']}."
        return {**task, "mine": mine, "wishes": wishes, "opening": opening, "skill_calls": [2 * wishes.index(stop)]}

    def reset(self, seed):
        task = self.generate_task(seed)
        (self.talk, self.diary), self.over = begin(task), False
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["opening"]}]

    def step(self, call):
        if self.over:
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        text, self.over = send(self.talk, self.diary, call)
        return {"observation": text, "done": self.over}

    @staticmethod
    def evaluate(trajectory, task):
        """1 when both requests are met; 0.5 when only the answers are wrong; 0 for an unread or wrong change."""
        talk, diary = begin(task)
        for entry in trajectory:
            if "call" not in entry or send(talk, diary, entry["call"])[1]:
                break
        wanted = [call for wish in task["wishes"] for call in wish["calls"] if not call["name"].startswith("get_")]
        if diary["blind"] or task["mine"] not in diary["read"] or not diary["said"]:
            return 0.0
        if sorted(map(str, diary["changed"])) != sorted(map(str, wanted)):
            return 0.0
        return 1.0 if diary["said"] == [wish["answer"] for wish in task["wishes"]] else 0.5

    @staticmethod
    def reference_solution(task):
        reply = [[{"name": "reply", "arguments": {"text": wish["answer"]}}] for wish in task["wishes"]]
        return [call for wish, text in zip(task["wishes"], reply, strict=True) for call in wish["calls"] + text]
