"""Trains: tell the customer the hour until which a rented bicycle is theirs.

Why this transfers: system message, tools, wordings, names and formats of observations are the shop's. The agent meets
the same request ("rent me the Azure Heron for Wednesday"), alone or with a question about a price after it, and the
hour is known only from what rent_bike returns. Nothing else in a task is hard, so the reward moves with the one habit:
the answer names the hour that was returned. In an eighth of the tasks the customer has a season pass; then naming an
hour is wrong, so that the habit stays bound to its condition. The hour is a fact that was found out, in the shop's own
words; no other words earn anything.
"""

import itertools
import json
import random
import re

SYSTEM = """\
You work at the counter of a bicycle shop. Act with the tools, and answer the customer in plain text, one
answer for each request.
Rules:
1. When you rent a bicycle, tell the customer the hour until which it is theirs, as rent_bike returns it. With a season
   pass there is no such hour: leave it out.
2. When a bicycle comes back, close the rental with return_bike and then pay the deposit that it returns with
   release_deposit. If the customer wants you to keep the deposit, do not pay it.
3. A repair of Brake, Fork, Steering or Axle is urgent, because the bicycle is not safe; any other one is normal. If the
   customer is in no hurry, it is normal in any case.
4. Before you fit a part, read its price, tell the customer and ask. Fit it only if the customer says yes. If the
   customer takes it whatever it costs, do not ask.
5. Change nothing that the customer did not ask for.
Use these words: "Coral Otter is yours on Monday until 18", "Coral Otter is yours on Monday", "rental 1234 is closed",
"your Brake is ready on Monday", "a Chain costs 56 shall i fit it", "Chain is on ticket 1234", "ticket 1234 stays as it
is", "ticket 1234 is ready on Monday", "rental 1234 is cancelled", "a Chain costs 56". "ride safely" at the end of an
answer is welcome, not required."""

FIRST = "Alva Boris Carmen Derek Edith Fabio Gilda Hugo Irma Jorge Katja Leon".split()
LAST = "Arnold Becker Castro Dubois Eriksen Fontana Garcia Hansen Ibsen Jung Kowal Lindt".split()
COLOURS = "Azure Bronze Coral Emerald Golden Ivory Lilac Maroon Olive Purple Silver Teal".split()
ANIMALS = "Badger Falcon Gazelle Heron Ibex Lynx Marten Otter Puma Stork".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
PARTS = "Cassette Chain Kickstand Lamp Mirror Pedal Pump Tyre".split()
UNSAFE = "Brake Fork Steering Axle".split()
SAFE = "Mudguard Basket Saddle".split()
GREETINGS = ["", "", "good morning. ", "nice shop. ", "i came by train. "]
RENTAL = list(range(35, 50))
TICKET = list(range(20, 35))
MOST_STEPS = 12


def _number(rng, pairs):
    return "%d%d" % tuple(rng.sample(pairs, 2))


def _function(name, description, **properties):
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
        },
    }


def _text(description):
    return {"type": "string", "description": description}


TOOLS = [
    _function(
        "rent_bike",
        "Rents a bicycle for a day and returns the hour when it is due.",
        bike=_text("Full name of the bicycle, e.g. Coral Otter."),
        day=_text("Day of the week, e.g. Monday."),
    ),
    _function(
        "return_bike",
        "Closes a rental whose bicycle is back and returns its deposit.",
        rental=_text("Number, e.g. 1234."),
    ),
    _function(
        "release_deposit",
        "Pays the deposit of a closed rental.",
        rental=_text("Number, e.g. 1234."),
        amount=_text("The deposit, e.g. 75."),
    ),
    _function("cancel_rental", "Cancels a rental.", rental=_text("Number, e.g. 1234.")),
    _function(
        "open_repair",
        "Opens a repair of a customer's bicycle and returns the day when it is ready.",
        customer=_text("First and last name."),
        fault=_text("What is to be repaired, e.g. Brake."),
        priority={"type": "string", "description": "How soon it is done.", "enum": ["normal", "urgent"]},
    ),
    _function("get_ticket", "Reads a repair ticket: the day when it is ready.", ticket=_text("Number, e.g. 1234.")),
    _function("get_price", "Reads the price of a part.", part=_text("Name of the part, e.g. Chain.")),
    _function(
        "fit_part",
        "Fits a new part to the bicycle of a ticket.",
        ticket=_text("Number, e.g. 1234."),
        part=_text("Name of the part, e.g. Chain."),
    ),
]
ARGUMENTS = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS}
CHANGES = ("rent_bike", "return_bike", "release_deposit", "cancel_rental", "open_repair", "fit_part")


def _json(value):
    return json.dumps(value, separators=(",", ":"))


def _error(message):
    return _json({"error": message})


def _words(text):
    return re.findall(r"[a-z]+|[0-9]+", text.lower()) if isinstance(text, str) else []


def _says(text, phrase):
    """The text holds the phrase, word for word; a greeting or "ride safely" around it does no harm."""
    words, wanted = _words(text), _words(phrase)
    return any(words[i : i + len(wanted)] == wanted for i in range(len(words) - len(wanted) + 1))


class _Shop:
    """One episode at the counter: what was asked, what was changed, what was said."""

    def __init__(self, task):
        self.task = task
        self.requests = task["requests"]
        self.position = 0
        self.steps = 0
        self.done = False
        self.changes = []  # (name, arguments, position) of each change that was made
        self.tried = []  # (name, arguments, position) of each well-formed call
        self.prices = []  # parts whose price was read
        self.questions = {}  # position -> the question that the customer was asked
        self.asked_after_price = {}
        self.answers = {}  # position -> answer

    def _tick(self):
        self.steps += 1
        if self.steps >= MOST_STEPS:
            self.done = True

    def _of(self, kind, key, value):
        return any(r["kind"] in kind and r.get(key) == value for r in self.requests)

    def _changed(self, name, **arguments):
        return any(n == name and all(a.get(k) == v for k, v in arguments.items()) for n, a, _ in self.changes)

    def _act(self, name, a):
        task = self.task
        if name == "get_price":
            if a["part"] not in task["prices"]:
                return _error("no such part"), False
            self.prices.append(a["part"])
            return _json({"part": a["part"], "price": task["prices"][a["part"]]}), False
        if name == "get_ticket":
            if not self._of(("fit",), "ticket", a["ticket"]):
                return _error("no such ticket"), False
            return _json({"ticket": a["ticket"], "day": task["days"]["ticket"]}), False
        if name == "rent_bike":
            if not self._of(("rent",), "bike", a["bike"]):
                return _error("no such bike"), False
            if a["day"] not in DAYS:
                return _error("no such day"), False
            return _json({"ok": True, "due": task["due"]}), True
        if name == "return_bike":
            if not self._of(("return", "cancel"), "rental", a["rental"]):
                return _error("no such rental"), False
            return _json({"ok": True, "deposit": task["deposit"]}), True
        if name == "release_deposit":
            if not self._of(("return", "cancel"), "rental", a["rental"]):
                return _error("no such rental"), False
            if not self._changed("return_bike", rental=a["rental"]):
                return _error("rental is open"), False
            if a["amount"] != str(task["deposit"]):
                return _error("wrong amount"), False
            return _json({"ok": True}), True
        if name == "cancel_rental":
            if not self._of(("return", "cancel"), "rental", a["rental"]):
                return _error("no such rental"), False
            return _json({"ok": True}), True
        if name == "open_repair":
            if a["customer"] != task["customer"]:
                return _error("no such customer"), False
            if a["priority"] not in ("normal", "urgent"):
                return _error("bad call"), False
            if a["fault"] not in UNSAFE + SAFE:
                return _error("no such fault"), False
            return _json({"ok": True, "day": task["days"][a["priority"]]}), True
        if not self._of(("fit",), "ticket", a["ticket"]):
            return _error("no such ticket"), False
        if a["part"] not in task["prices"]:
            return _error("no such part"), False
        return _json({"ok": True}), True

    def call(self, call):
        if self.done:
            return {"observation": _error("bad call"), "done": True}
        self._tick()
        name = call.get("name") if isinstance(call, dict) else None
        a = call.get("arguments") if isinstance(call, dict) else None
        if (
            not isinstance(name, str)
            or name not in ARGUMENTS
            or not isinstance(a, dict)
            or sorted(map(str, a)) != sorted(ARGUMENTS[name])
            or not all(isinstance(value, str) for value in a.values())
        ):
            return {"observation": _error("bad call"), "done": self.done}
        self.tried.append((name, dict(a), self.position))
        observation, changed = self._act(name, a)
        if changed and not any(n == name and b == a for n, b, _ in self.changes):
            self.changes.append((name, dict(a), self.position))
        return {"observation": observation, "done": self.done}

    def say(self, text):
        if self.done:
            return {"observation": "", "done": True}
        self._tick()
        request = self.requests[self.position]
        if request["kind"] == "fit" and _says(text, "shall i fit it"):
            if self.position not in self.questions:
                self.questions[self.position] = text
                self.asked_after_price[self.position] = request["part"] in self.prices
            return {"observation": "yes please." if request["yes"] else "no leave it.", "done": self.done}
        self.answers[self.position] = text
        self.position += 1
        if self.position >= len(self.requests):
            self.done = True
            return {"observation": "", "done": True}
        return {"observation": self.task["second"], "done": self.done}

    # What each request should have led to.

    def wanted(self, request):
        """The changes that a request asks for."""
        kind = request["kind"]
        if kind == "rent":
            return [("rent_bike", {"bike": request["bike"], "day": request["day"]})]
        if kind == "return":
            close = [("return_bike", {"rental": request["rental"]})]
            pay = ("release_deposit", {"rental": request["rental"], "amount": str(self.task["deposit"])})
            return close if request["keep"] else [*close, pay]
        if kind == "cancel":
            return [("cancel_rental", {"rental": request["rental"]})]
        if kind == "repair":
            arguments = {"customer": self.task["customer"], "fault": request["fault"], "priority": request["priority"]}
            return [("open_repair", arguments)]
        if kind == "fit" and (request["yes"] or request["free"]):
            return [("fit_part", {"ticket": request["ticket"], "part": request["part"]})]
        return []

    def answer(self, request):
        """The answer that a request asks for."""
        kind, task = request["kind"], self.task
        if kind == "rent":
            end = "" if request["season"] else f" until {task['due']}"
            return f"{request['bike']} is yours on {request['day']}{end}"
        if kind == "return":
            return f"rental {request['rental']} is closed"
        if kind == "cancel":
            return f"rental {request['rental']} is cancelled"
        if kind == "repair":
            return f"your {request['fault']} is ready on {task['days'][request['priority']]}"
        if kind == "price":
            return f"a {request['part']} costs {task['prices'][request['part']]}"
        if request["yes"] or request["free"]:
            return f"{request['part']} is on ticket {request['ticket']}"
        return f"ticket {request['ticket']} stays as it is"

    def question(self, request):
        return f"a {request['part']} costs {self.task['prices'][request['part']]} shall i fit it"

    def moves(self, request):
        """The moves that serve a request, as the rules want it."""
        moves = []
        if request["kind"] == "price":
            moves.append({"name": "get_price", "arguments": {"part": request["part"]}})
        if request["kind"] == "fit" and not request["free"]:
            moves.append({"name": "get_price", "arguments": {"part": request["part"]}})
            moves.append({"text": self.question(request)})
        moves += [{"name": name, "arguments": arguments} for name, arguments in self.wanted(request)]
        return [*moves, {"text": self.answer(request)}]

    def made(self, name, arguments, position):
        return any(n == name and a == arguments and p <= position for n, a, p in self.changes)

    def served(self, position):
        """The request at this position has all its changes and its answer."""
        request = self.requests[position]
        if not all(self.made(name, arguments, position) for name, arguments in self.wanted(request)):
            return False
        if request["kind"] == "price" and request["part"] not in self.prices:
            return False
        text = self.answers.get(position)
        if request["kind"] == "rent" and request["season"] and "until" in _words(text):
            return False
        return _says(text, self.answer(request))

    def clean(self):
        """Nothing was changed that was not asked for."""
        wanted = [w for request in self.requests for w in self.wanted(request)]
        return all((name, arguments) in wanted for name, arguments, _ in self.changes)


def _play(trajectory, task):
    shop = _Shop(task)
    for move in trajectory if isinstance(trajectory, list) else []:
        if not isinstance(move, dict):
            continue
        if "text" in move:
            shop.say(move["text"])
        else:
            shop.call(move.get("call"))
    return shop


def _task(rng, requests, opening, second, skill):
    """skill: (request, move in it) for each move that shows the capability."""
    normal, urgent, ticket = (rng.choice(DAYS) for _ in range(3))
    task = {
        "customer": f"{rng.choice(FIRST)} {rng.choice(LAST)}",
        "requests": requests,
        "second": second,
        "prices": {part: rng.randint(50, 65) for part in PARTS},
        "days": {"normal": normal, "urgent": urgent, "ticket": ticket},
        "due": rng.randint(10, 19),
        "deposit": rng.randint(70, 85),
    }
    task["opening"] = f"{rng.choice(GREETINGS)}{opening}. this is {task['customer']}."
    shop = _Shop(task)
    lengths = [len(shop.moves(request)) for request in requests]
    starts = [0, *itertools.accumulate(lengths)]
    task["skill_calls"] = [starts[request] + move for request, move in skill]
    return task


def _generate(rng):
    season = rng.random() < 0.13
    bike, day = f"{rng.choice(COLOURS)} {rng.choice(ANIMALS)}", rng.choice(DAYS)
    if season:
        said = rng.choice(["i have a season pass and want the %s on %s", "rent me the %s for %s on my season pass"])
    else:
        said = rng.choice(["rent me the %s for %s", "i want the %s on %s", "can i have the %s on %s"])
    said = said % (bike, day)
    rent = {"kind": "rent", "bike": bike, "day": day, "season": season}
    if rng.random() < 0.3 and not season:
        part = rng.choice(PARTS)
        also = rng.choice(["what does a %s cost", "how much is a %s", "price of a %s please"]) % part
        requests = [rent, {"kind": "price", "part": part}]
        return _task(rng, requests, f"{said} and then {also}", "good. and the other thing.", [(0, 1)])
    return _task(rng, [rent], said, "", [(0, 1)])


def _score(shop):
    request, text = shop.requests[0], shop.answers.get(0)
    rented = shop.made("rent_bike", {"bike": request["bike"], "day": request["day"]}, 0)
    tried = any(name == "rent_bike" for name, _, at in shop.tried if at == 0)
    if all(shop.served(i) for i in range(len(shop.requests))) and shop.clean():
        return 1.0
    if request["season"]:
        return 0.1 if rented else 0.0
    hours = [word for word in _words(text) if word.isdigit()]
    if tried and hours == [str(shop.task["due"])] and _says(text, f"until {hours[0]}"):
        return 0.6 if rented else 0.45
    return 0.1 if rented else 0.0


class Environment:
    @staticmethod
    def tools():
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed):
        return _generate(random.Random(f"name-the-due-hour:{seed}"))

    def reset(self, seed):
        task = self.generate_task(seed)
        self._shop = _Shop(task)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["opening"]}]

    def step(self, call):
        return self._shop.call(call)

    def say(self, text):
        return self._shop.say(text)

    @staticmethod
    def reference_solution(task):
        shop = _Shop(task)
        return [move for request in task["requests"] for move in shop.moves(request)]

    @staticmethod
    def evaluate(trajectory, task):
        return float(_score(_play(trajectory, task)))
