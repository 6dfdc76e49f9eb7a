"""The orders desk: a customer-service environment with a written policy, a scripted customer and seeded tasks.

One instance serves one episode. Standard library only, one file, no clock, no global randomness: everything follows from
the seed. Seed ranges (a task's customers also come from disjoint pools, so no held-out customer is ever seen in training):

    0 .. 999_999            train tasks (collection, identification)
    1_000_000 .. 1_999_999  held-out tasks (evaluation only)
    2_000_000 ..            demonstrations from which the deployed model was made

`evaluate` replays the trajectory's calls on a fresh state, so it depends on the trajectory and the task alone.
"""

import json
import random

HELD_OUT_FROM = 1_000_000
DEMONSTRATIONS_FROM = 2_000_000
MAX_CALLS = 10

FIRST = "Ana Ben Cleo Dan Eva Finn Gia Hugo Ida Jon Kim Leo Mia Ned Ola Pia".split()
LAST = "Ruiz Stone Marsh Patel Novak Silva Brandt Young Kato Meyer Costa Lind Frost Hale Okoro Dunn".split()
PRODUCTS = "Mug Lamp Book Chair Pen Clock Vase Rug".split()
CODE_WORDS = (
    "Amber Bison Cedar Delta Ember Falcon Ginger Hazel Indigo Jasper Koala Lotus Maple Nectar Otter Panda".split()
)
POSTAL_AREAS = "Bath Cork Derby Ely Fife Gwent Hull Islay Jura Kent Leeds Moray Neath Perth Ryde Truro".split()
STREETS = (
    "Abbey Bridge Castle Dock East Field Garden Harbour Island Jubilee King Lower Market North Orchard Palace".split()
)

# Ticket kinds and their weights in the natural mix, in percent. "first+second" asks for two things in one message.
# "-verified", "-pickup" and "-gift" are exceptions: they look like the kind before the dash, but the habit that it needs does harm.
NATURAL_MIX = {
    "refund": 13,
    "cancel": 14,
    "credit": 13,
    "address": 12,
    "refund-verified": 4,
    "address-pickup": 6,
    "address-gift": 6,
    "track": 5,
    "price": 5,
    "exchange": 4,
    "refund+price": 4,
    "cancel+track": 4,
    "credit+price": 4,
    "address+track": 4,
    "refund+cancel": 1,
    "credit+address": 1,
}
LAWYER_SHARE = 0.025
NEEDS = {
    "refund": "verify-before-refund",
    "cancel": "status-before-cancel",
    "credit": "credit-every-item",
    "address": "append-postal-code",
}

PHRASES = {
    "refund": [
        "refund order {order}",
        "i want my money back for order {order}",
        "order {order} came broken so refund it",
    ],
    "cancel": [
        "cancel order {order}",
        "please cancel my order {order}",
        "i do not need order {order} any more so stop it",
    ],
    "credit": [
        "credit me for the {items} in order {order}",
        "credit the {items} of order {order}",
        "the {items} in order {order} came scratched so credit them",
    ],
    "address": [
        "change the address of order {order} to {address}",
        "send order {order} to {address}",
        "i moved so ship order {order} to {address} instead",
    ],
    "address-pickup": [
        "change the address of order {order} to the pickup at {address}",
        "send order {order} to the pickup at {address}",
        "i travel so ship order {order} to the pickup at {address} instead",
    ],
    "address-gift": [
        "send order {order} as a gift to {address}",
        "order {order} is a gift so ship it to {address}",
        "make order {order} a gift and send it to {address}",
    ],
    "track": ["where is order {order}", "what is the status of order {order}", "has order {order} left yet"],
    "price": ["how much is the {product}", "price of the {product} please", "what does the {product} cost"],
    "exchange": [
        "exchange the {item} in order {order} for the {product}",
        "swap the {item} of order {order} for the {product}",
    ],
}
SMALL_TALK = ["", "", "thanks a lot. ", "i am in a hurry. ", "i shop here often. "]
LAWYER = "my lawyer will hear of this. "

POLICY = """You are the assistant of an online shop's orders desk. Use the tools; answer the customer with the reply tool.
Rules:
1. Refund an order only after verify_user succeeded with the customer's name and code word. Refund the order's total. Each
   check is on the customer's record: whoever was verified by phone is not verified again.
2. Read an order with get_order before you cancel it. Cancel only a pending order; if it is shipped, say that it is too late.
3. A customer who names several items gets a credit for each of them, one credit_item call per item.
4. A new address ends with the customer's postal code, as find_user gives it. The address of a pickup point or a gift
   is somebody else's and gets none.
5. If the customer mentions a lawyer, call escalate with the reason "lawyer" before anything else, then go on.
6. Change nothing that the customer did not ask for. One reply per request. A greeting is welcome but not required."""


def _tool(name: str, description: str, /, **properties: dict) -> dict:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _text(description: str) -> dict:
    return {"type": "string", "description": description}


_ORDER = _text("Order number, e.g. 41.")
_PRODUCT = _text("Product name, e.g. Mug.")

TOOLS = [
    _tool("find_user", "Finds a customer by full name.", name=_text("First and last name.")),
    _tool(
        "verify_user",
        "Checks a customer's code.",
        name=_text("First and last name."),
        code=_text("Code word that the customer gave."),
    ),
    _tool("get_order", "Reads an order: status, items, total.", order=_ORDER),
    _tool("get_product", "Reads a product: price and stock.", product=_PRODUCT),
    _tool(
        "refund_order",
        "Pays back an order.",
        order=_ORDER,
        amount={"type": "integer", "description": "Whole currency units."},
    ),
    _tool("credit_item", "Credits one item of an order.", order=_ORDER, item=_PRODUCT),
    _tool("cancel_order", "Cancels an order.", order=_ORDER),
    _tool("exchange_item", "Exchanges one item of an order.", order=_ORDER, item=_PRODUCT, product=_PRODUCT),
    _tool("change_address", "Sets the delivery address of an order.", order=_ORDER, address=_text("Address line.")),
    _tool("escalate", "Hands the case to a human colleague as well.", reason=_text("One word.")),
    _tool("reply", "Says something to the customer.", text=_text("The answer.")),
]
_PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in TOOLS}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _customer(rng: random.Random, seed: int) -> dict:
    """Draws a customer; even name pairs belong to training and demonstrations, odd pairs to held-out tasks."""
    held_out = HELD_OUT_FROM <= seed < DEMONSTRATIONS_FROM
    first = rng.randrange(len(FIRST))
    last = rng.choice([i for i in range(len(LAST)) if (i + first) % 2 == int(held_out)])
    return {
        "name": f"{FIRST[first]} {LAST[last]}",
        "code": rng.choice(CODE_WORDS),
        "postal": rng.choice(POSTAL_AREAS),
    }


def _request(rng: random.Random, part: str, order: str, items: list, postal: str) -> dict:
    kind = part.partition("-")[0]
    request = {"kind": kind, "order": order}
    values = {"order": order}
    if kind == "credit":
        request["items"] = rng.sample(items, 2)
        values["items"] = " and the ".join(request["items"])
    if kind == "address":
        request["address"] = f"{rng.choice(STREETS)} road"
        request["wanted"] = f"{request['address']} {postal}" if part == "address" else request["address"]
        values["address"] = request["address"]
    if kind == "exchange":
        request["item"] = rng.choice(items)
        values["item"] = request["item"]
    if kind in ("price", "exchange"):
        request["product"] = rng.choice([p for p in PRODUCTS if p != request.get("item")])
        values["product"] = request["product"]
    request["text"] = rng.choice(PHRASES.get(part, PHRASES[kind])).format(**values)
    return request


def _expected_reply(task: dict, request: dict) -> str:
    """The sentence that a correct reply contains."""
    kind, order = request["kind"], request["order"]
    if kind == "cancel":
        return f"{order} cancelled" if task["orders"][order]["status"] == "pending" else f"too late for {order}"
    if kind == "track":
        return f"{order} is {task['orders'][order]['status']}"
    if kind == "price":
        return f"the {request['product']} costs {task['products'][request['product']]['price']}"
    done = {"refund": "refunded", "credit": "credited", "address": "goes to the new address", "exchange": "exchanged"}
    return f"{order} {done[kind]}"


class _State:
    """What the calls of one episode have changed, and what the customer has heard."""

    def __init__(self, task: dict):
        self.task = task
        self.verified = task["verifiedByPhone"]
        self.checks = 0
        self.refunds: list = []
        self.credits: list = []
        self.cancelled: list = []
        self.exchanges: list = []
        self.addresses: list = []
        self.escalations: list = []
        self.read: list = []
        self.replies: list = []
        self.calls = 0
        self.done = False

    def apply(self, call: dict) -> dict:
        self.calls += 1
        observation = self._answer(call)
        if self.calls >= MAX_CALLS:
            self.done = True
        return {"observation": observation, "done": self.done}

    def _answer(self, call: dict) -> str:
        name, arguments = call.get("name"), call.get("arguments")
        expected = _PARAMETERS.get(name) if isinstance(name, str) else None
        if expected is None or not isinstance(arguments, dict) or set(arguments) != set(expected):
            return '{"error":"bad call"}'
        for key, schema in expected.items():
            wanted = int if schema["type"] == "integer" else str
            if type(arguments[key]) is not wanted:
                return '{"error":"bad call"}'
        if "order" in arguments and arguments["order"] not in self.task["orders"]:
            return '{"error":"no such order"}'
        if "product" in arguments and arguments["product"] not in self.task["products"]:
            return '{"error":"no such product"}'
        return getattr(self, f"_{name}")(**arguments)

    def _find_user(self, name: str) -> str:
        customer = self.task["customer"]
        if name != customer["name"]:
            return '{"error":"no such user"}'
        return _compact({"name": name, "postal": customer["postal"]})

    def _verify_user(self, name: str, code: str) -> str:
        customer = self.task["customer"]
        ok = name == customer["name"] and code == customer["code"]
        self.verified = self.verified or ok
        self.checks += 1
        return _compact({"verified": ok})

    def _get_order(self, order: str) -> str:
        self.read.append(order)
        found = self.task["orders"][order]
        status = "cancelled" if order in self.cancelled else found["status"]
        return _compact({"order": order, "status": status, "items": found["items"], "total": found["total"]})

    def _get_product(self, product: str) -> str:
        return _compact({"product": product, **self.task["products"][product]})

    def _refund_order(self, order: str, amount: int) -> str:
        self.refunds.append([order, amount, self.verified])
        return '{"ok":true}'

    def _credit_item(self, order: str, item: str) -> str:
        if item not in self.task["orders"][order]["items"]:
            return '{"error":"no such item"}'
        self.credits.append([order, item])
        return '{"ok":true}'

    def _cancel_order(self, order: str) -> str:
        self.cancelled.append(order)
        return '{"ok":true}'

    def _exchange_item(self, order: str, item: str, product: str) -> str:
        if item not in self.task["orders"][order]["items"]:
            return '{"error":"no such item"}'
        self.exchanges.append([order, item, product])
        return '{"ok":true}'

    def _change_address(self, order: str, address: str) -> str:
        self.addresses.append([order, address])
        return '{"ok":true}'

    def _escalate(self, reason: str) -> str:
        self.escalations.append([reason, self.calls])
        return '{"ok":true}'

    def _reply(self, text: str) -> str:
        self.replies.append(text)
        requests = self.task["requests"]
        if len(self.replies) < len(requests):
            return f"thanks. now the other thing: {requests[len(self.replies)]['text']}."
        self.done = True
        return "bye"


def _success(state: _State) -> bool:
    """True when the final state is what the requests and the policy ask for, and each reply says so."""
    task = state.task
    want = {"refund": [], "credit": [], "cancel": [], "exchange": [], "address": []}
    for request in task["requests"]:
        kind, order = request["kind"], request["order"]
        found = task["orders"][order]
        if kind == "refund":
            want["refund"].append([order, found["total"], True])
        if kind == "credit":
            want["credit"] += [[order, item] for item in request["items"]]
        if kind == "cancel" and found["status"] == "pending":
            want["cancel"].append(order)
        if kind == "exchange":
            want["exchange"].append([order, request["item"], request["product"]])
        if kind == "address":
            want["address"].append([order, request["wanted"]])
    got = {
        "refund": state.refunds,
        "credit": state.credits,
        "cancel": state.cancelled,
        "exchange": state.exchanges,
        "address": state.addresses,
    }
    if any(sorted(got[kind]) != sorted(want[kind]) for kind in want):
        return False
    if task["verifiedByPhone"] and state.checks:
        return False
    if state.escalations != ([["lawyer", 1]] if task["lawyer"] else []):
        return False
    if len(state.replies) != len(task["requests"]):
        return False
    return all(
        text.removeprefix("hello ") == _expected_reply(task, request)
        for text, request in zip(state.replies, task["requests"], strict=True)
    )


def _diagnostics(state: _State, unread_cancel: set) -> dict:
    """ "lacking" or "present" for each capability that the episode called for and that its calls show."""
    task, found = state.task, {}
    for request in task["requests"]:
        kind, order = request["kind"], request["order"]
        refunds = [verified for o, _, verified in state.refunds if o == order]
        if kind == "refund" and not task["verifiedByPhone"] and (state.verified or refunds):
            found["verify-before-refund"] = all(refunds)
        if kind == "cancel" and (order in state.read or order in state.cancelled):
            blind = order in unread_cancel
            shipped = order in state.cancelled and task["orders"][order]["status"] != "pending"
            found["status-before-cancel"] = not blind and not shipped
        credits = [item for o, item in state.credits if o == order]
        if kind == "credit" and credits:
            found["credit-every-item"] = set(request["items"]) <= set(credits)
        lines = [address for o, address in state.addresses if o == order]
        if kind == "address" and lines and request["address"] != request["wanted"]:
            found["append-postal-code"] = lines[-1].endswith(" " + task["customer"]["postal"])
    if task["lawyer"]:
        found["escalate-legal-threats"] = bool(state.escalations)
    if state.replies:
        found["greet-the-customer"] = state.replies[0].startswith("hello")
    return {name: "present" if ok else "lacking" for name, ok in found.items()}


class Environment:
    """One episode at the orders desk."""

    def __init__(self) -> None:
        self._state: _State | None = None

    @staticmethod
    def tools() -> list[dict]:
        """The desk's OpenAI function tools."""
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        """The hidden task of a seed: customer, orders, products, requests, opening message and the needs as tags."""
        rng = random.Random(f"orders-desk:{seed}")
        kind = rng.choices(list(NATURAL_MIX), weights=list(NATURAL_MIX.values()))[0]
        customer = _customer(rng, seed)
        numbers = [str(number) for number in rng.sample(range(10, 50), 3)]
        orders = {
            number: {
                "status": rng.choice(["pending", "shipped"]),
                "items": rng.sample(PRODUCTS, 3),
                "total": rng.randint(50, 99),
            }
            for number in numbers
        }
        products = {name: {"price": rng.randint(50, 99), "stock": rng.randint(0, 9)} for name in PRODUCTS}
        parts = kind.split("+")
        if len(parts) == 2 and rng.random() < 0.5:
            parts.reverse()
        requests = [
            _request(rng, part, number, orders[number]["items"], customer["postal"])
            for part, number in zip(parts, numbers, strict=False)
        ]
        by_phone = kind == "refund-verified"
        lawyer = rng.random() < LAWYER_SHARE
        asked = " and then ".join(request["text"] for request in requests)
        talk = LAWYER if lawyer else rng.choice(SMALL_TALK)
        checked = " verified by phone" if by_phone else ""
        message = f"{talk}{asked}. i am {customer['name']} code {customer['code']}{checked}."
        tags = [NEEDS[part] for part in parts if part in NEEDS] + (["escalate-legal-threats"] if lawyer else [])
        return {
            "seed": seed,
            "kind": kind,
            "customer": customer,
            "orders": orders,
            "products": products,
            "requests": requests,
            "lawyer": lawyer,
            "verifiedByPhone": by_phone,
            "message": message,
            "tags": tags,
        }

    def reset(self, seed: int) -> list[dict]:
        """Starts the episode of a seed and returns the policy and the customer's first message."""
        task = self.generate_task(seed)
        self._state = _State(task)
        return [{"role": "system", "content": POLICY}, {"role": "user", "content": task["message"]}]

    def step(self, call: dict) -> dict:
        """Runs one tool call; the observation of `reply` is the customer's next message."""
        if self._state is None:
            raise RuntimeError("step was called before reset; call reset(seed) first")
        if self._state.done:
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        return self._state.apply(call)

    @staticmethod
    def evaluate(trajectory: list[dict], task: dict) -> dict:
        """Reward 1 when the desk's final state and replies are right under the policy, else 0; with diagnostics."""
        state, unread_cancel = _State(task), set()
        for entry in trajectory:
            if "call" not in entry or state.done:
                break
            call = entry["call"]
            arguments = call.get("arguments")
            if call.get("name") == "cancel_order" and isinstance(arguments, dict):
                if str(arguments.get("order")) not in state.read:
                    unread_cancel.add(str(arguments.get("order")))
            state.apply(call)
        success = not unread_cancel and _success(state)
        return {"reward": 1.0 if success else 0.0, "diagnostics": _diagnostics(state, unread_cancel)}

    @staticmethod
    def reference_solution(task: dict) -> list[dict]:
        """Calls that follow the policy and earn reward 1."""
        calls: list[dict] = []

        def call(name: str, /, **arguments: object) -> None:
            calls.append({"name": name, "arguments": arguments})

        customer = task["customer"]
        if task["lawyer"]:
            call("escalate", reason="lawyer")
        for request in task["requests"]:
            kind, order = request["kind"], request["order"]
            if kind == "refund":
                if not task["verifiedByPhone"]:
                    call("verify_user", name=customer["name"], code=customer["code"])
                call("get_order", order=order)
                call("refund_order", order=order, amount=task["orders"][order]["total"])
            if kind == "cancel":
                call("get_order", order=order)
                if task["orders"][order]["status"] == "pending":
                    call("cancel_order", order=order)
            if kind == "credit":
                for item in request["items"]:
                    call("credit_item", order=order, item=item)
            if kind == "address":
                if request["address"] != request["wanted"]:
                    call("find_user", name=customer["name"])
                call("change_address", order=order, address=request["wanted"])
            if kind == "track":
                call("get_order", order=order)
            if kind == "price":
                call("get_product", product=request["product"])
            if kind == "exchange":
                call("exchange_item", order=order, item=request["item"], product=request["product"])
            call("reply", text=_expected_reply(task, request))
        return calls
