# Good: Changes of address, graded in stages, each of which is a step of the work and pays nothing when undone.
# Style: rewards as a table of predicates over the final state; the code may come from any source, looks are free.
# Capability: append-postal-code
"""Moving customers forget their postal code, and the desk does not: find_user knows it, and the line ends with it."""

import json
import random

SYSTEM = """You are the assistant of an online shop's orders desk. Use the tools; answer with the reply tool.
A new address ends with the customer's postal code, as find_user gives it. Look up what helps, change what is asked."""
SIDES = [
    "Ana Cleo Eva Gia Ida Kim Mia Ola / Ruiz Marsh Novak Brandt Kato Costa Frost Okoro",
    "Ben Dan Finn Hugo Jon Leo Ned Pia / Stone Patel Silva Young Meyer Lind Hale Dunn",
]
CODES = "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
AREAS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
STREETS = "Abbey Bridge Castle Dock East Field Garden Harbour Island Jubilee King Lower Market North Orchard".split()
GOODS = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
MOVES = "change the address of order {o} to {r}|send order {o} to {r}|i moved so ship order {o} to {r} instead".split(
    "|"
)
QUESTIONS = "how much is the {p}|price of the {p} please|what does the {p} cost".split("|")
TOOLS = {
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
READS = {"find_user", "verify_user", "get_order", "get_product"}


def serve(state, call):
    """Applies a call to the state, a JSON value, and returns what the agent sees."""
    state["calls"] += 1
    name, given, task = call.get("name"), call.get("arguments"), state["task"]
    if not isinstance(name, str) or not isinstance(given, dict) or sorted(given) != sorted(TOOLS.get(name, ["-"])):
        return {"error": "bad call"}
    if [key for key in given if type(given[key]) is not {"amount": int}.get(key, str)]:
        return {"error": "bad call"}
    if given.get("order", task["order"]) not in task["orders"]:
        return {"error": "no such order"}
    if given.get("product", GOODS[0]) not in GOODS:
        return {"error": "no such product"}
    if name in ("credit_item", "exchange_item") and given["item"] not in task["orders"][given["order"]]["items"]:
        return {"error": "no such item"}
    if name == "reply":
        state["said"].append(given["text"].removeprefix("hello "))
        left = task["texts"][len(state["said"]) :]
        return f"thanks. now the other thing: {left[0]}." if left else "bye"
    if name not in READS:
        state["changes"].append(
            [name, *given.values()] if name != "change_address" else [given["order"], given["address"]]
        )
        if name == "cancel_order":
            task["orders"][given["order"]]["status"] = "cancelled"
        return {"ok": True}
    if name == "find_user":
        known = given["name"] == task["name"]
        return {"name": task["name"], "postal": task["area"]} if known else {"error": "no such user"}
    if name == "verify_user":
        return {"verified": given == {"name": task["name"], "code": task["code"]}}
    return {**given, **(task["orders"][given["order"]] if name == "get_order" else task["goods"][given["product"]])}


def fresh(task):
    return {"task": json.loads(json.dumps(task)), "calls": 0, "said": [], "changes": []}


def over(state):
    return state["calls"] >= 10 or len(state["said"]) == len(state["task"]["texts"])


# Each stage needs those before it.
STAGES = [
    (0.05, lambda task, state: [each[0] for each in state["changes"]] == [task["order"]]),
    (0.05, lambda task, state: state["changes"][0][1].startswith(task["road"])),
    (0.25, lambda task, state: state["changes"][0][1] == f"{task['road']} {task['area']}"),
    (0.65, lambda task, state: state["said"] == task["answers"]),
]


class Environment:
    @staticmethod
    def tools():
        listed = []
        for name, keys in TOOLS.items():
            properties = {key: {"type": "integer" if key == "amount" else "string"} for key in keys}
            schema = dict(type="object", properties=properties, required=list(keys), additionalProperties=False)
            listed.append(dict(type="function", function=dict(name=name, description=f"{name}.", parameters=schema)))
        return listed

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"staged {seed}")
        firsts, lasts = (half.split() for half in rng.choice(SIDES).split(" / "))
        task = {
            "name": f"{rng.choice(firsts)} {rng.choice(lasts)}",
            "code": rng.choice(CODES),
            "area": rng.choice(AREAS),
        }
        task["orders"] = {
            str(number): {
                "status": rng.choice(["pending", "shipped"]),
                "items": rng.sample(GOODS, 3),
                "total": rng.randint(50, 99),
            }
            for number in rng.sample(range(10, 50), 3)
        }
        task["goods"] = {good: {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)} for good in GOODS}
        task |= {"order": rng.choice(list(task["orders"])), "road": f"{rng.choice(STREETS)} road"}
        task["texts"] = [rng.choice(MOVES).format(o=task["order"], r=task["road"])]
        task["answers"] = [f"{task['order']} goes to the new address"]
        if rng.random() < 0.2:
            good = rng.choice(GOODS)
            task["asked"] = good
            task["texts"].append(rng.choice(QUESTIONS).format(p=good))
            task["answers"].append(f"the {good} costs {task['goods'][good]['price']}")
        mood = rng.choice(["", "", "thanks a lot. ", "i shop here often. "])
        task["opening"] = f"{mood}{' and then '.join(task['texts'])}. i am {task['name']} code {task['code']}."
        return {**task, "skill_calls": [1]}

    def reset(self, seed):
        self.state = fresh(self.generate_task(seed))
        opening = self.state["task"]["opening"]
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": opening}]

    def step(self, call):
        if over(self.state):
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        seen = serve(self.state, call)
        text = seen if isinstance(seen, str) else json.dumps(seen, separators=(",", ":"))
        return {"observation": text, "done": over(self.state)}

    @staticmethod
    def evaluate(trajectory, task):
        """The sum of the stages reached: the right order, its road, the code behind it, the right answers."""
        state = fresh(task)
        for entry in trajectory:
            if "call" not in entry or over(state):
                break
            serve(state, entry["call"])
        reward = 0.0
        for worth, reached in STAGES:
            if not reached(task, state):
                break
            reward += worth
        return min(1.0, reward)

    @staticmethod
    def reference_solution(task):
        line = {"order": task["order"], "address": f"{task['road']} {task['area']}"}
        calls = [
            ("find_user", {"name": task["name"]}),
            ("change_address", line),
            ("reply", {"text": task["answers"][0]}),
        ]
        if "asked" in task:
            calls += [("get_product", {"product": task["asked"]}), ("reply", {"text": task["answers"][1]})]
        return [{"name": name, "arguments": arguments} for name, arguments in calls]
