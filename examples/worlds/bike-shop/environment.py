"""The bicycle shop: the counter rents bicycles, takes them back, opens repairs and fits parts. It answers in text.

One instance serves one episode. Standard library only, one file: everything follows from the seed. Seed ranges (names
of customers and bicycles, numbers of rentals and tickets are pairs; a random quarter of all pairs is held out):

    0 .. 999_999            train tasks (collection, identification)
    1_000_000 .. 1_999_999  held-out tasks (evaluation only)
    2_000_000 ..            demonstrations from which the deployed model was made

`evaluate` replays the trajectory on a fresh state, so it depends on the trajectory and the task alone.
"""

import json
import random

HELD_OUT_FROM = 1_000_000
DEMONSTRATIONS_FROM = 2_000_000
MAX_TURNS = 10
CLOSING = " ride safely"
QUESTION = " shall i fit it"

FIRST = "Alva Boris Carmen Derek Edith Fabio Gilda Hugo Irma Jorge Katja Leon".split()
LAST = "Arnold Becker Castro Dubois Eriksen Fontana Garcia Hansen Ibsen Jung Kowal Lindt".split()
COLOURS = "Azure Bronze Coral Emerald Golden Ivory Lilac Maroon Olive Purple Silver Teal".split()
MODELS = "Badger Falcon Gazelle Heron Ibex Lynx Marten Otter Puma Stork".split()
SAFETY = "Brake Fork Steering Axle".split()
SMALL = "Bell Basket Saddle Mudguard".split()
PARTS = "Chain Pedal Tyre Lamp Pump Mirror Cassette Kickstand".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
TICKETS = [str(number) for number in range(20, 35)]
RENTALS = [str(number) for number in range(35, 50)]
HOURS, PRICES, DEPOSITS = (10, 19), (50, 65), (70, 85)

# Kinds of task and their weights in the natural mix, in percent. "first+second" asks for two things in one opening;
# "first&second" asks for the second thing only once the first is answered. "-pass", "-keep", "-parked" and "-agreed"
# are exceptions: they look like the kind before the dash, but the habit that it needs does harm.
NATURAL_MIX = {
    "rent": 11,
    "return": 11,
    "repair": 11,
    "fit": 11,
    "rent-pass": 4,
    "return-keep": 4,
    "repair-parked": 4,
    "fit-agreed": 4,
    "mend": 4,
    "status": 4,
    "cancel": 4,
    "price": 4,
    "return+rent": 5,
    "repair&return": 5,
    "fit+cancel": 4,
    "rent+price": 5,
    "fit&repair": 5,
}
NEEDS = {
    "rent": "name-the-due-hour",
    "return": "release-the-deposit",
    "repair": "mark-safety-urgent",
    "fit": "ask-before-fitting",
}

REPAIR = ["please repair my {fault}", "my {fault} is loose", "there is something wrong with my {fault}"]
PHRASES = {
    "rent": ["rent me the {bike} for {day}", "i want the {bike} on {day}", "can i have the {bike} on {day}"],
    "rent-pass": [
        "rent me the {bike} for {day} on my season pass",
        "i have a season pass and want the {bike} on {day}",
        "can i have the {bike} on {day} with my season pass",
    ],
    "return": ["i bring back rental {rental}", "rental {rental} is back", "here is the bike of rental {rental}"],
    "return-keep": [
        "i bring back rental {rental} but keep the deposit for next time",
        "rental {rental} is back but keep the deposit for next time",
        "here is the bike of rental {rental} and you keep the deposit for next time",
    ],
    "repair": REPAIR,
    "repair-parked": [
        "please repair my {fault} but there is no hurry",
        "my {fault} is loose but there is no hurry",
        "there is something wrong with my {fault} but there is no hurry",
    ],
    "mend": REPAIR,
    "fit": [
        "fit a new {part} on ticket {ticket}",
        "ticket {ticket} needs a new {part}",
        "please put a new {part} on ticket {ticket}",
    ],
    "fit-agreed": [
        "fit a new {part} on ticket {ticket} whatever it costs",
        "ticket {ticket} needs a new {part} whatever it costs",
        "please put a new {part} on ticket {ticket} whatever it costs",
    ],
    "status": ["when is ticket {ticket} ready", "which day is ticket {ticket} ready"],
    "cancel": ["cancel rental {rental}", "i do not need rental {rental} any more"],
    "price": ["how much is a {part}", "what does a {part} cost", "price of a {part} please"],
}
SMALL_TALK = ["", "", "good morning. ", "nice shop. ", "i came by train. "]

POLICY = """You work at the counter of a bicycle shop. Act with the tools, and answer the customer in plain text, one
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


def _tool(name: str, description: str, /, **properties: str | dict) -> dict:
    described = {
        key: {"type": "string", **(given if isinstance(given, dict) else {"description": given})}
        for key, given in properties.items()
    }
    parameters = {
        "type": "object",
        "properties": described,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_BIKE, _DAY, _RENTAL = (
    "Full name of the bicycle, e.g. Coral Otter.",
    "Day of the week, e.g. Monday.",
    "Number, e.g. 1234.",
)
_TICKET, _PART = "Number, e.g. 1234.", "Name of the part, e.g. Chain."
_PRIORITY = {"description": "How soon it is done.", "enum": ["normal", "urgent"]}

TOOLS = [
    _tool("rent_bike", "Rents a bicycle for a day and returns the hour when it is due.", bike=_BIKE, day=_DAY),
    _tool("return_bike", "Closes a rental whose bicycle is back and returns its deposit.", rental=_RENTAL),
    _tool("release_deposit", "Pays the deposit of a closed rental.", rental=_RENTAL, amount="The deposit, e.g. 75."),
    _tool("cancel_rental", "Cancels a rental.", rental=_RENTAL),
    _tool(
        "open_repair",
        "Opens a repair of a customer's bicycle and returns the day when it is ready.",
        customer="First and last name.",
        fault="What is to be repaired, e.g. Brake.",
        priority=_PRIORITY,
    ),
    _tool("get_ticket", "Reads a repair ticket: the day when it is ready.", ticket=_TICKET),
    _tool("get_price", "Reads the price of a part.", part=_PART),
    _tool("fit_part", "Fits a new part to the bicycle of a ticket.", ticket=_TICKET, part=_PART),
]
READING = {"get_ticket", "get_price"}
_PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS}


def _as_change(call: dict) -> list[str]:
    """Name and values of a call that changes something, in the order of the parameters; empty for a look-up."""
    name, given = call["name"], call["arguments"]
    return [] if name in READING else [name, *(given[key] for key in _PARAMETERS[name])]


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _divided(firsts: list[str], seconds: list[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """All pairs of different parts, shuffled and divided: three quarters for training, a quarter held out."""
    pairs = [(first, second) for first in firsts for second in seconds if first != second]
    random.Random(f"bike-shop:{firsts[0]}:{seconds[0]}").shuffle(pairs)
    cut = len(pairs) // 4
    return pairs[cut:], pairs[:cut]


_PAIRS = {
    "people": (" ", _divided(FIRST, LAST)),
    "bikes": (" ", _divided(COLOURS, MODELS)),
    "rentals": ("", _divided(RENTALS, RENTALS)),
    "tickets": ("", _divided(TICKETS, TICKETS)),
}


def _draw(rng: random.Random, seed: int, pool: str, count: int) -> list[str]:
    """Names or numbers of a seed's pool without a common first part, so that the first part tells them apart."""
    joint, halves = _PAIRS[pool]
    pairs = halves[int(HELD_OUT_FROM <= seed < DEMONSTRATIONS_FROM)]
    drawn: dict[str, str] = {}
    while len(drawn) < count:
        first, second = rng.choice(pairs)
        drawn.setdefault(first, joint.join((first, second)))
    return list(drawn.values())


def _request(rng: random.Random, part: str, task: dict) -> dict:
    """One request of a kind, with its words and what it names."""
    kind, _, exception = part.partition("-")
    request: dict = {"kind": kind, "exception": exception}
    if kind == "rent":
        request["bike"] = rng.choice(list(task["bikes"]))
        request["day"] = rng.choice(DAYS)
    if kind in ("return", "cancel"):
        request["rental"] = rng.choice(list(task["rentals"]))
    if kind in ("repair", "mend"):
        request["fault"] = rng.choice(SAFETY if kind == "repair" else SMALL)
    if kind in ("fit", "status"):
        request["ticket"] = rng.choice(list(task["tickets"]))
    if kind in ("fit", "price"):
        request["part"] = rng.choice(PARTS)
    if kind == "fit":
        request["accepts"] = exception == "agreed" or rng.random() < 0.5
    request["text"] = rng.choice(PHRASES[part]).format(**request)
    return request


def _priority(request: dict) -> str:
    return "urgent" if request["kind"] == "repair" and not request["exception"] else "normal"


def _expected_question(task: dict, request: dict) -> str:
    """What has to be asked before the request is granted; empty where nothing has."""
    if request["kind"] != "fit" or request["exception"]:
        return ""
    return f"a {request['part']} costs {task['prices'][request['part']]}{QUESTION}"


def _expected_answer(task: dict, request: dict) -> str:
    """What a correct answer says, without a closing phrase."""
    kind, rental, ticket, part = request["kind"], request.get("rental"), request.get("ticket"), request.get("part")
    if kind == "rent":
        until = "" if request["exception"] == "pass" else f" until {task['bikes'][request['bike']]}"
        return f"{request['bike']} is yours on {request['day']}{until}"
    if kind == "return":
        return f"rental {rental} is closed"
    if kind in ("repair", "mend"):
        return f"your {request['fault']} is ready on {task['ready'][_priority(request)]}"
    if kind == "fit":
        return f"{part} is on ticket {ticket}" if request["accepts"] else f"ticket {ticket} stays as it is"
    if kind == "status":
        return f"ticket {ticket} is ready on {task['tickets'][ticket]}"
    if kind == "cancel":
        return f"rental {rental} is cancelled"
    return f"a {part} costs {task['prices'][part]}"


class _State:
    """What the turns of one episode have changed, and what the customer has been asked and told."""

    def __init__(self, task: dict):
        self.task = task
        self.changes: list = []
        self.returned: list = []
        self.questions: list = []
        self.unasked: list = []
        self.answers: list = []
        self.turns = 0
        self.done = False

    def call(self, call: dict) -> str:
        """Runs one tool call and returns its observation."""
        self._count()
        name, given = call.get("name"), call.get("arguments")
        wanted = _PARAMETERS.get(name) if isinstance(name, str) else None
        if wanted is None or not isinstance(given, dict) or set(given) != set(wanted):
            return '{"error":"bad call"}'
        if any(type(value) is not str for value in given.values()):
            return '{"error":"bad call"}'
        task = self.task
        known = {
            "bike": task["bikes"],
            "rental": task["rentals"],
            "ticket": task["tickets"],
            "part": PARTS,
            "fault": SAFETY + SMALL,
            "day": DAYS,
            "priority": task["ready"],
        }
        for key, value in given.items():
            if key in known and value not in known[key]:
                return _compact({"error": f"no such {key}"})
        if name == "get_ticket":
            return _compact({"ticket": given["ticket"], "day": task["tickets"][given["ticket"]]})
        if name == "get_price":
            return _compact({"part": given["part"], "price": task["prices"][given["part"]]})
        return self._change(name, given)

    def _change(self, name: str, given: dict) -> str:
        if name == "release_deposit" and given["rental"] not in self.returned:
            return '{"error":"rental is not closed"}'
        self.changes.append(_as_change({"name": name, "arguments": given}))
        if name == "rent_bike":
            return _compact({"ok": True, "due": self.task["bikes"][given["bike"]]})
        if name == "return_bike":
            self.returned.append(given["rental"])
            return _compact({"ok": True, "deposit": self.task["rentals"][given["rental"]]})
        if name == "open_repair":
            return _compact({"ok": True, "day": self.task["ready"][given["priority"]]})
        if name == "fit_part" and not any(given["part"] in question for question in self.questions):
            self.unasked.append(given["part"])
        return '{"ok":true}'

    def hear(self, text: str) -> str:
        """Hears one question or answer and returns what the customer says to it."""
        self._count()
        requests = self.task["requests"]
        request = requests[len(self.answers)]
        if request["kind"] == "fit" and text.endswith(QUESTION):
            self.questions.append(text)
            return "yes please." if request["accepts"] else "no leave it."
        self.answers.append(text)
        if len(self.answers) == len(requests):
            self.done = True
            return "goodbye"
        if self.task["later"]:
            return f"good. and {requests[len(self.answers)]['text']}."
        return "good. and the other thing."

    def _count(self) -> None:
        self.turns += 1
        self.done = self.done or self.turns >= MAX_TURNS


def _success(state: _State) -> bool:
    """True when the changes are those wanted, and the customer was asked and told what is right, in this order."""
    task = state.task
    wanted = [_as_change(move) for request in task["requests"] for move in _solve(task, request) if "name" in move]
    if sorted(state.changes) != sorted(filter(None, wanted)):
        return False
    questions = [_expected_question(task, request) for request in task["requests"]]
    if state.questions != list(filter(None, questions)):
        return False
    agreed = {request["part"] for request in task["requests"] if request["exception"] == "agreed"}
    if not agreed.issuperset(state.unasked):
        return False
    answers = [text.removesuffix(CLOSING) for text in state.answers]
    return answers == [_expected_answer(task, request) for request in task["requests"]]


def _diagnostics(state: _State) -> dict:
    """ "lacking" or "present" for each capability that the episode called for and that its turns show."""
    task, found = state.task, {}
    for place, request in enumerate(task["requests"]):
        kind = request["kind"]
        if request["exception"]:
            continue
        if kind == "rent" and place < len(state.answers):
            if ["rent_bike", request["bike"], request["day"]] in state.changes:
                found["name-the-due-hour"] = f"until {task['bikes'][request['bike']]}" in state.answers[place]
        if kind == "return" and request["rental"] in state.returned:
            released = ["release_deposit", request["rental"], str(task["rentals"][request["rental"]])]
            if released in state.changes or place < len(state.answers):
                found["release-the-deposit"] = released in state.changes
        if kind == "repair":
            opened = [
                change for change in state.changes if change[0] == "open_repair" and change[2] == request["fault"]
            ]
            if opened:
                found["mark-safety-urgent"] = all(change[3] == "urgent" for change in opened)
        if kind == "fit":
            asked = any(request["part"] in question for question in state.questions)
            fitted = ["fit_part", request["ticket"], request["part"]] in state.changes
            if asked or fitted:
                allowed = request["accepts"] or not fitted
                found["ask-before-fitting"] = asked and allowed and request["part"] not in state.unasked
    if state.answers:
        found["ride-safely"] = state.answers[-1].endswith(CLOSING)
    return {name: "present" if ok else "lacking" for name, ok in found.items()}


def _solve(task: dict, request: dict) -> list[dict]:
    """The moves before the answer that one request needs under the policy: calls, and a question where one is due."""
    kind, exception = request["kind"], request["exception"]
    moves: list[dict] = []

    def call(name: str, **arguments: str) -> None:
        moves.append({"name": name, "arguments": arguments})

    if kind == "rent":
        call("rent_bike", bike=request["bike"], day=request["day"])
    if kind == "return":
        call("return_bike", rental=request["rental"])
        if exception != "keep":
            call("release_deposit", rental=request["rental"], amount=str(task["rentals"][request["rental"]]))
    if kind in ("repair", "mend"):
        call("open_repair", customer=task["customer"], fault=request["fault"], priority=_priority(request))
    if kind == "fit":
        if not exception:
            call("get_price", part=request["part"])
            moves.append({"text": _expected_question(task, request)})
        if request["accepts"]:
            call("fit_part", ticket=request["ticket"], part=request["part"])
    if kind == "status":
        call("get_ticket", ticket=request["ticket"])
    if kind == "cancel":
        call("cancel_rental", rental=request["rental"])
    if kind == "price":
        call("get_price", part=request["part"])
    return moves


class Environment:
    """One episode at the counter of the bicycle shop."""

    def __init__(self) -> None:
        self._state: _State | None = None

    @staticmethod
    def tools() -> list[dict]:
        """The counter's OpenAI function tools. Questions and answers are no tool: they are the agent's text."""
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        """The hidden task of a seed: bicycles, rentals, tickets, prices, requests, opening and the needs as tags."""
        rng = random.Random(f"bike-shop:{seed}")
        kind = rng.choices(list(NATURAL_MIX), weights=list(NATURAL_MIX.values()))[0]
        normal, urgent = rng.sample(DAYS, 2)
        task: dict = {
            "seed": seed,
            "kind": kind,
            "customer": _draw(rng, seed, "people", 1)[0],
            "bikes": {bike: rng.randint(*HOURS) for bike in _draw(rng, seed, "bikes", 3)},
            "rentals": {number: rng.randint(*DEPOSITS) for number in _draw(rng, seed, "rentals", 3)},
            "tickets": {number: rng.choice(DAYS) for number in _draw(rng, seed, "tickets", 3)},
            "prices": {part: rng.randint(*PRICES) for part in PARTS},
            "ready": {"normal": normal, "urgent": urgent},
            "later": "&" in kind,
        }
        parts = kind.replace("&", "+").split("+")
        task["requests"] = [_request(rng, part, task) for part in parts]
        said = task["requests"][:1] if task["later"] else task["requests"]
        asked = " and then ".join(request["text"] for request in said)
        task["message"] = f"{rng.choice(SMALL_TALK)}{asked}. this is {task['customer']}."
        task["tags"] = [NEEDS[part] for part in parts if part in NEEDS]
        return task

    def reset(self, seed: int) -> list[dict]:
        """Starts the episode of a seed and returns the policy and the customer's first message."""
        task = self.generate_task(seed)
        self._state = _State(task)
        return [{"role": "system", "content": POLICY}, {"role": "user", "content": task["message"]}]

    def step(self, call: dict) -> dict:
        """Runs one tool call."""
        state = self._running()
        if state.done:
            return {"observation": '{"error":"the conversation is over"}', "done": True}
        return {"observation": state.call(call), "done": state.done}

    def say(self, text: str) -> dict:
        """Asks or tells the customer something; the observation is what the customer says next."""
        state = self._running()
        if state.done:
            return {"observation": "the conversation is over", "done": True}
        return {"observation": state.hear(text), "done": state.done}

    def _running(self) -> _State:
        if self._state is None:
            raise RuntimeError("the episode has not begun; call reset(seed) first")
        return self._state

    @staticmethod
    def evaluate(trajectory: list[dict], task: dict) -> dict:
        """Reward 1 when changes, questions and answers are right under the policy, else 0; with diagnostics."""
        state = _State(task)
        for turn in trajectory:
            if state.done:
                break
            if "text" in turn:
                state.hear(turn["text"])
            else:
                state.call(turn["call"])
        return {"reward": 1.0 if _success(state) else 0.0, "diagnostics": _diagnostics(state)}

    @staticmethod
    def reference_solution(task: dict) -> list[dict]:
        """Moves that follow the policy and earn reward 1: calls, and {"text"} for what the counter says."""
        moves: list[dict] = []
        for request in task["requests"]:
            moves += [*_solve(task, request), {"text": _expected_answer(task, request)}]
        return moves
