"""The venue desk: bookings of a conference centre. The desk acts with tools and answers the customer in plain text.

One instance serves one episode. Standard library only, one file: everything follows from the seed. Seed ranges (rooms,
people and booking numbers come from disjoint pools, so nothing that a held-out task names is ever seen in training):

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
SIGN_OFF = " thanks for calling"
# A reference solution is a list of calls, so an answer in one is a call of this name. No tool has it: agents answer in
# text.
SAY = "say"

FIRST = "Ada Bruno Clara Dario Elsa Felix Greta Henri Ines Jonas Karin Luca Marta Nils Olga Paolo".split()
LAST = "Adler Berg Conti Duval Egger Fabri Gruber Holm Ivanov Jansen Keller Lorenz Moser Nagy Orsini Peters".split()
ROOM_NAMES = "Aspen Birch Cherry Dahlia Elm Fern Grove Heather Iris Juniper Larch Myrtle".split()
ROOM_KINDS = "Hall Studio Salon Suite Loft Gallery Parlour Terrace".split()
EXTRAS = "Lunch Coffee Projector Stage Piano Flowers Microphone Interpreter".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()

# Kinds of task and their weights in the natural mix, in percent. "first+second" asks for two things in one message.
# "-held", "-quiet" and "-firm" are exceptions: they look like the kind before the dash, but the habit that it needs
# does harm.
NATURAL_MIX = {
    "book": 17,
    "move": 17,
    "extra": 17,
    "book-held": 6,
    "move-quiet": 6,
    "extra-firm": 6,
    "cancel": 5,
    "when": 5,
    "price": 5,
    "book+price": 5,
    "move+price": 5,
    "extra+when": 5,
    "move+extra": 1,
}
NEEDS = {"book": "check-before-booking", "move": "notify-every-guest", "extra": "state-the-total"}

PHRASES = {
    "book": [
        "book the {room} for {day}",
        "i need the {room} on {day}",
        "please reserve the {room} for {day}",
    ],
    "book-held": [
        "you hold the {room} for me so book it for {day}",
        "book the {room} that you hold for me for {day}",
        "please turn my hold on the {room} for {day} into a booking",
    ],
    "move": [
        "move booking {booking} to {day}",
        "booking {booking} has to be on {day} instead",
        "please put booking {booking} on {day}",
    ],
    "move-quiet": [
        "move booking {booking} to {day} but tell nobody",
        "booking {booking} is a surprise so put it on {day} and tell nobody",
        "please put booking {booking} on {day} and keep it a surprise",
    ],
    "extra": [
        "add {extra} to booking {booking}",
        "booking {booking} needs {extra}",
        "please put {extra} on booking {booking}",
    ],
    "extra-firm": [
        "add {extra} to booking {booking} and the firm pays",
        "booking {booking} needs {extra} and the firm pays",
        "the firm pays so put {extra} on booking {booking}",
    ],
    "cancel": ["cancel booking {booking}", "i do not need booking {booking} any more"],
    "when": ["when is booking {booking}", "which day is booking {booking}", "what day did i book with {booking}"],
    "price": ["how much is {extra}", "what does {extra} cost", "price of {extra} please"],
}
SMALL_TALK = ["", "", "good morning. ", "i am on the train. ", "we were here last year. "]

POLICY = """You work at the booking desk of a conference centre. Act with the tools, and answer the customer in plain
text, one answer for each request.
Rules:
1. Check a room with check_room for the day before you book it. Book it only if it is free; else say that it is taken.
   A room that the desk holds for the customer shows as taken because of that hold: book it.
2. When a booking moves to another day, notify each of its guests, one notify_guest call for each. get_booking lists
   them. If the customer wants nobody to know, notify nobody.
3. When you add an extra, tell the customer the new total. If the firm pays, the total is none of the customer's
   business: leave it out.
4. Change nothing that the customer did not ask for.
Answer in these words: "Elm Hall is booked for Monday", "Elm Hall is taken on Monday", "booking 1234 is now on Monday",
"Lunch is added to booking 1234 and the total is 56", "Lunch is added to booking 1234", "booking 1234 is cancelled",
"booking 1234 is on Monday", "Lunch costs 56". "thanks for calling" at the end of an answer is welcome, not required."""


def _tool(name: str, description: str, /, **properties: str) -> dict:
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_ROOM, _DAY, _BOOKING = "Full name of the room, e.g. Elm Hall.", "Day of the week, e.g. Monday.", "Number, e.g. 1234."
_GUEST, _EXTRA = "First and last name.", "Name of the extra, e.g. Lunch."

TOOLS = [
    _tool("check_room", "Says whether a room is free or taken on a day.", room=_ROOM, day=_DAY),
    _tool("book_room", "Books a room for a day.", room=_ROOM, day=_DAY),
    _tool("get_booking", "Reads a booking: room, day, guests, total.", booking=_BOOKING),
    _tool("move_booking", "Moves a booking to another day.", booking=_BOOKING, day=_DAY),
    _tool("notify_guest", "Tells one guest of a booking what has changed.", booking=_BOOKING, guest=_GUEST),
    _tool("get_price", "Reads the price of an extra.", extra=_EXTRA),
    _tool("add_extra", "Adds an extra to a booking and returns the new total.", booking=_BOOKING, extra=_EXTRA),
    _tool("cancel_booking", "Cancels a booking.", booking=_BOOKING),
]
READING = {"check_room", "get_booking", "get_price"}
_PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS}


def _as_change(call: dict) -> list[str]:
    """Name and values of a call that changes something, in the order of the parameters; empty for a look-up."""
    name, given = call["name"], call["arguments"]
    return [] if name in READING else [name, *(given[key] for key in _PARAMETERS[name])]


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


class _Pool:
    """Draws names and numbers of one pool: pairs with an even sum of places for training, with an odd one held out."""

    def __init__(self, rng: random.Random, seed: int):
        self._rng = rng
        self._odd = int(HELD_OUT_FROM <= seed < DEMONSTRATIONS_FROM)

    def _pairs(self, firsts: list[str], seconds: list[str], count: int) -> list[tuple[str, str]]:
        """Pairs without a common first member, so that the first word of a name already tells it from the others."""
        drawn = self._rng.sample(range(len(firsts)), count)
        return [(firsts[i], self._rng.choice(seconds[(i + self._odd) % 2 :: 2])) for i in drawn]

    def people(self, count: int) -> list[str]:
        return [" ".join(pair) for pair in self._pairs(FIRST, LAST, count)]

    def rooms(self, count: int) -> list[str]:
        return [" ".join(pair) for pair in self._pairs(ROOM_NAMES, ROOM_KINDS, count)]

    def bookings(self, count: int) -> list[str]:
        numbers = [str(number) for number in range(10, 50)]
        return ["".join(pair) for pair in self._pairs(numbers, numbers, count)]


def _request(rng: random.Random, part: str, room: str, booking: str, task: dict) -> dict:
    """One request of a kind, with its words and what it names."""
    kind, _, exception = part.partition("-")
    request = {"kind": kind, "exception": exception}
    if kind in ("book", "move"):
        taken = task["rooms"][room] if kind == "book" else [task["bookings"][booking]["day"]]
        free = [day for day in DAYS if day not in taken]
        wants_taken = kind == "book" and (exception == "held" or rng.random() < 0.5)
        request["day"] = rng.choice(taken if wants_taken else free)
    if kind == "book":
        request["room"] = room
    if kind in ("move", "extra", "cancel", "when"):
        request["booking"] = booking
    if kind in ("extra", "price"):
        request["extra"] = rng.choice(EXTRAS)
    request["text"] = rng.choice(PHRASES[part]).format(**request)
    return request


def _expected_answer(task: dict, request: dict) -> str:
    """What a correct answer says, without a closing phrase."""
    kind, booking, extra = request["kind"], request.get("booking"), request.get("extra")
    if kind == "book":
        free = request["exception"] == "held" or request["day"] not in task["rooms"][request["room"]]
        return f"{request['room']} is {'booked for' if free else 'taken on'} {request['day']}"
    if kind == "move":
        return f"booking {booking} is now on {request['day']}"
    if kind == "extra":
        total = task["bookings"][booking]["total"] + task["prices"][extra]
        told = "" if request["exception"] == "firm" else f" and the total is {total}"
        return f"{extra} is added to booking {booking}{told}"
    if kind == "cancel":
        return f"booking {booking} is cancelled"
    if kind == "when":
        return f"booking {booking} is on {task['bookings'][booking]['day']}"
    return f"{extra} costs {task['prices'][extra]}"


class _State:
    """What the turns of one episode have changed, and what the customer has been told."""

    def __init__(self, task: dict):
        self.task = task
        self.checked: list = []
        self.changes: list = []
        self.blind: list = []
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
        for key, known in (("room", "rooms"), ("booking", "bookings"), ("extra", "prices")):
            if key in given and given[key] not in self.task[known]:
                return _compact({"error": f"no such {key}"})
        if "day" in given and given["day"] not in DAYS:
            return '{"error":"no such day"}'
        if name == "check_room":
            self.checked.append((given["room"], given["day"]))
            state = "taken" if given["day"] in self.task["rooms"][given["room"]] else "free"
            return _compact({"room": given["room"], "day": given["day"], "state": state})
        if name == "get_booking":
            return _compact({"booking": given["booking"], **self.task["bookings"][given["booking"]]})
        if name == "get_price":
            return _compact({"extra": given["extra"], "price": self.task["prices"][given["extra"]]})
        return self._change(name, given)

    def _change(self, name: str, given: dict) -> str:
        if name == "notify_guest" and given["guest"] not in self.task["bookings"][given["booking"]]["guests"]:
            return '{"error":"no such guest"}'
        if name == "book_room" and (given["room"], given["day"]) not in self.checked:
            self.blind.append(given["room"])
        self.changes.append(_as_change({"name": name, "arguments": given}))
        if name == "add_extra":
            booking = given["booking"]
            added = [change[2] for change in self.changes if change[:2] == ["add_extra", booking]]
            prices = sum(self.task["prices"][extra] for extra in added)
            return _compact({"ok": True, "total": self.task["bookings"][booking]["total"] + prices})
        return '{"ok":true}'

    def answer(self, text: str) -> str:
        """Hears one answer and returns what the customer says to it."""
        self._count()
        self.answers.append(text)
        requests = self.task["requests"]
        if len(self.answers) < len(requests):
            return f"and the other thing: {requests[len(self.answers)]['text']}."
        self.done = True
        return "goodbye"

    def _count(self) -> None:
        self.turns += 1
        self.done = self.done or self.turns >= MAX_TURNS


def _success(state: _State) -> bool:
    """True when the desk's changes are those wanted, no room was booked unchecked, and each answer is right."""
    task = state.task
    held = {request["room"] for request in task["requests"] if request["exception"] == "held"}
    wanted = [_as_change(call) for request in task["requests"] for call in _solve(task, request)]
    if not held.issuperset(state.blind) or sorted(state.changes) != sorted(filter(None, wanted)):
        return False
    answers = [text.removesuffix(SIGN_OFF) for text in state.answers]
    return answers == [_expected_answer(task, request) for request in task["requests"]]


def _diagnostics(state: _State) -> dict:
    """ "lacking" or "present" for each capability that the episode called for and that its turns show."""
    task, found = state.task, {}
    for place, request in enumerate(task["requests"]):
        if request["exception"]:
            continue
        kind, booking = request["kind"], request.get("booking")
        if kind == "book":
            where = (request["room"], request["day"])
            booked = ["book_room", *where] in state.changes
            if booked or where in state.checked:
                taken = request["day"] in task["rooms"][request["room"]]
                found["check-before-booking"] = request["room"] not in state.blind and not (booked and taken)
        if kind == "move" and any(change[:2] == ["move_booking", booking] for change in state.changes):
            told = [change[2] for change in state.changes if change[:2] == ["notify_guest", booking]]
            found["notify-every-guest"] = set(task["bookings"][booking]["guests"]) <= set(told)
        if kind == "extra" and place < len(state.answers):
            if ["add_extra", booking, request["extra"]] in state.changes:
                found["state-the-total"] = "total" in state.answers[place]
    if state.answers:
        found["sign-off"] = state.answers[-1].endswith(SIGN_OFF)
    return {name: "present" if ok else "lacking" for name, ok in found.items()}


def _spoken(call: dict) -> str:
    """The text of a `SAY` call; empty where it has none."""
    given = call.get("arguments")
    text = given.get("text") if isinstance(given, dict) else None
    return text if isinstance(text, str) else ""


def _solve(task: dict, request: dict) -> list[dict]:
    """The calls that one request needs under the policy."""
    kind = request["kind"]
    calls: list[dict] = []

    def call(name: str, **arguments: str) -> None:
        calls.append({"name": name, "arguments": arguments})

    if kind == "book":
        if request["exception"] != "held":
            call("check_room", room=request["room"], day=request["day"])
        if "booked" in _expected_answer(task, request):
            call("book_room", room=request["room"], day=request["day"])
    booking = request.get("booking", "")
    if kind == "move":
        quiet = request["exception"] == "quiet"
        if not quiet:
            call("get_booking", booking=booking)
        call("move_booking", booking=booking, day=request["day"])
        for guest in [] if quiet else task["bookings"][booking]["guests"]:
            call("notify_guest", booking=booking, guest=guest)
    if kind == "extra":
        call("add_extra", booking=booking, extra=request["extra"])
    if kind == "cancel":
        call("cancel_booking", booking=booking)
    if kind == "when":
        call("get_booking", booking=booking)
    if kind == "price":
        call("get_price", extra=request["extra"])
    return calls


class Environment:
    """One episode at the venue desk."""

    def __init__(self) -> None:
        self._state: _State | None = None

    @staticmethod
    def tools() -> list[dict]:
        """The desk's OpenAI function tools. Answers to the customer are no tool: they are the agent's text."""
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        """The hidden task of a seed: bookings, rooms, prices, requests, opening message and the needs as tags."""
        rng = random.Random(f"venue-desk:{seed}")
        kind = rng.choices(list(NATURAL_MIX), weights=list(NATURAL_MIX.values()))[0]
        pool = _Pool(rng, seed)
        caller, *guests = pool.people(7)
        rooms = pool.rooms(3)
        numbers = pool.bookings(3)
        task: dict = {
            "seed": seed,
            "kind": kind,
            "rooms": {room: rng.sample(DAYS, 3) for room in rooms},
            "bookings": {
                number: {
                    "room": rng.choice(rooms),
                    "day": rng.choice(DAYS),
                    "guests": guests[2 * place : 2 * place + 2],
                    "total": rng.randint(10, 34),
                }
                for place, number in enumerate(numbers)
            },
            "prices": {extra: rng.randint(50, 65) for extra in EXTRAS},
        }
        parts = kind.split("+")
        if len(parts) == 2 and rng.random() < 0.5:
            parts.reverse()
        task["requests"] = [_request(rng, part, rooms[i], numbers[i], task) for i, part in enumerate(parts)]
        asked = " and then ".join(request["text"] for request in task["requests"])
        task["message"] = f"{rng.choice(SMALL_TALK)}{asked}. this is {caller}."
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
        if call.get("name") == SAY:
            return self.say(_spoken(call))
        return {"observation": state.call(call), "done": state.done}

    def say(self, text: str) -> dict:
        """Gives the customer an answer; the observation is what the customer says next."""
        state = self._running()
        if state.done:
            return {"observation": "the conversation is over", "done": True}
        return {"observation": state.answer(text), "done": state.done}

    def _running(self) -> _State:
        if self._state is None:
            raise RuntimeError("the episode has not begun; call reset(seed) first")
        return self._state

    @staticmethod
    def evaluate(trajectory: list[dict], task: dict) -> dict:
        """Reward 1 when changes and answers are right under the policy, else 0; with diagnostics."""
        state = _State(task)
        for turn in trajectory:
            if state.done:
                break
            if "text" in turn:
                state.answer(turn["text"])
            elif turn["call"].get("name") == SAY:
                state.answer(_spoken(turn["call"]))
            else:
                state.call(turn["call"])
        return {"reward": 1.0 if _success(state) else 0.0, "diagnostics": _diagnostics(state)}

    @staticmethod
    def reference_solution(task: dict) -> list[dict]:
        """Turns that follow the policy and earn reward 1: calls, and `SAY` for each answer."""
        turns: list[dict] = []
        for request in task["requests"]:
            turns += _solve(task, request)
            turns.append({"name": SAY, "arguments": {"text": _expected_answer(task, request)}})
        return turns
