"""Extras that are added to a booking, to practise one thing: the answer says the new total.

The total stands nowhere but in what add_extra returns, so it has to be read there and said. Tools, observations and
words are the agent's own; only bookings, extras and sums are drawn anew. So the habit of saying the sum carries over.
"""

import json
import random

SYSTEM = """You work at the booking desk of a conference centre. Act with the tools, and answer the customer in plain
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

FIRSTS = "Ada Bruno Clara Dario Elsa Felix Greta Henri Ines Jonas Karin Luca Marta Nils Olga Paolo".split()
LASTS = "Adler Berg Conti Duval Egger Fabri Gruber Holm Ivanov Jansen Keller Lorenz Moser Nagy Orsini Peters".split()
ROOM_FIRSTS = "Aspen Birch Cherry Dahlia Elm Fern Grove Iris Juniper Larch Myrtle".split()
ROOM_LASTS = "Hall Studio Salon Suite Loft Gallery Parlour Terrace".split()
EXTRAS = "Lunch Coffee Projector Stage Piano Flowers Microphone Interpreter".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
OPENERS = ["", "", "good morning. ", "i am on the train. ", "we were here last year. "]
REQUESTS = [
    "add {extra} to booking {booking}",
    "booking {booking} needs {extra}",
    "please put {extra} on booking {booking}",
]
SIDE_SHARE = 0.2
MAX_TURNS = 10

SIGNATURES = {
    "check_room": ("Says whether a room is free or taken on a day.", ["room", "day"]),
    "book_room": ("Books a room for a day.", ["room", "day"]),
    "get_booking": ("Reads a booking: room, day, guests, total.", ["booking"]),
    "move_booking": ("Moves a booking to another day.", ["booking", "day"]),
    "notify_guest": ("Tells one guest of a booking what has changed.", ["booking", "guest"]),
    "get_price": ("Reads the price of an extra.", ["extra"]),
    "add_extra": ("Adds an extra to a booking and returns the new total.", ["booking", "extra"]),
    "cancel_booking": ("Cancels a booking.", ["booking"]),
}
PARAMETERS = {
    "room": "Full name of the room, e.g. Elm Hall.",
    "day": "Day of the week, e.g. Monday.",
    "booking": "Number, e.g. 1234.",
    "guest": "First and last name.",
    "extra": "Name of the extra, e.g. Lunch.",
}


def _line(value):
    return json.dumps(value, separators=(",", ":"))


class _Desk:
    """The desk during one episode: what was looked up, what was changed and what was said, in order."""

    def __init__(self, task):
        self.task = task
        self.log = []
        self.answers = []
        self.turns = 0
        self.over = False

    def act(self, call):
        self._tick()
        name, given = call.get("name"), call.get("arguments")
        if not isinstance(name, str) or name not in SIGNATURES or not isinstance(given, dict):
            return _line({"error": "bad call"})
        keys = SIGNATURES[name][1]
        if set(given) != set(keys) or any(type(value) is not str for value in given.values()):
            return _line({"error": "bad call"})
        task = self.task
        known = {"room": task["rooms"], "booking": task["bookings"], "extra": task["prices"], "day": DAYS}
        for key, place in known.items():
            if key in given and given[key] not in place:
                return _line({"error": f"no such {key}"})
        if name == "notify_guest" and given["guest"] not in task["bookings"][given["booking"]]["guests"]:
            return _line({"error": "no such guest"})
        self.log.append([name, *(given[key] for key in keys)])
        if name == "check_room":
            state = "taken" if given["day"] in task["rooms"][given["room"]] else "free"
            return _line({"room": given["room"], "day": given["day"], "state": state})
        if name == "get_booking":
            return _line({"booking": given["booking"], **task["bookings"][given["booking"]]})
        if name == "get_price":
            return _line({"extra": given["extra"], "price": task["prices"][given["extra"]]})
        if name == "add_extra":
            added = [entry[2] for entry in self.log if entry[:2] == ["add_extra", given["booking"]]]
            before = task["bookings"][given["booking"]]["total"]
            return _line({"ok": True, "total": before + sum(task["prices"][extra] for extra in added)})
        return _line({"ok": True})

    def hear(self, text):
        self._tick()
        self.answers.append(text.removesuffix(" thanks for calling"))
        wishes = self.task["wishes"]
        if len(self.answers) < len(wishes):
            return f"and the other thing: {wishes[len(self.answers)]['text']}."
        self.over = True
        return "goodbye"

    def changes(self):
        """Everything but look-ups."""
        return [entry for entry in self.log if entry[0] not in ("check_room", "get_booking", "get_price")]

    def _tick(self):
        self.turns += 1
        self.over = self.over or self.turns >= MAX_TURNS


def _replay(trajectory, task):
    desk = _Desk(task)
    for turn in trajectory:
        if desk.over:
            break
        if "text" in turn:
            desk.hear(turn["text"])
        else:
            desk.act(turn["call"])
    return desk


def _side_question(rng, task, number):
    """A question that needs one look-up and no change."""
    if rng.random() < 0.5:
        text = rng.choice(["when is booking {n}", "which day is booking {n}"]).format(n=number)
        answer = f"booking {number} is on {task['bookings'][number]['day']}"
        return {"text": text, "answer": answer, "look": {"name": "get_booking", "arguments": {"booking": number}}}
    extra = rng.choice(EXTRAS)
    text = rng.choice(["how much is {x}", "what does {x} cost", "price of {x} please"]).format(x=extra)
    answer = f"{extra} costs {task['prices'][extra]}"
    return {"text": text, "answer": answer, "look": {"name": "get_price", "arguments": {"extra": extra}}}


def _wish(rng, task, room, number):
    """An extra to add; the answer names the sum that it makes."""
    extra = rng.choice(EXTRAS)
    total = task["bookings"][number]["total"] + task["prices"][extra]
    call = {"name": "add_extra", "arguments": {"booking": number, "extra": extra}}
    short = f"{extra} is added to booking {number}"
    text = rng.choice(REQUESTS).format(booking=number, extra=extra)
    return {"text": text, "answer": f"{short} and the total is {total}", "short": short, "calls": [call]}


class Environment:
    """One episode."""

    def __init__(self):
        self._desk = None

    @staticmethod
    def tools():
        described = []
        for name, (description, keys) in SIGNATURES.items():
            parameters = {
                "type": "object",
                "properties": {key: {"type": "string", "description": PARAMETERS[key]} for key in keys},
                "required": list(keys),
                "additionalProperties": False,
            }
            function = {"name": name, "description": description, "parameters": parameters}
            described.append({"type": "function", "function": function})
        return described

    @staticmethod
    def generate_task(seed):
        rng = random.Random(f"state-the-total/{seed}")
        people = [f"{first} {rng.choice(LASTS)}" for first in rng.sample(FIRSTS, 7)]
        rooms = [f"{first} {rng.choice(ROOM_LASTS)}" for first in rng.sample(ROOM_FIRSTS, 3)]
        numbers = [f"{first}{rng.randint(10, 49)}" for first in rng.sample(range(10, 50), 3)]
        bookings = {}
        for place, number in enumerate(numbers):
            guests = people[1 + 2 * place : 3 + 2 * place]
            booking = {"room": rng.choice(rooms), "day": rng.choice(DAYS), "guests": guests}
            bookings[number] = {**booking, "total": rng.randint(10, 34)}
        prices = {extra: rng.randint(50, 65) for extra in EXTRAS}
        task = {"rooms": {room: rng.sample(DAYS, 3) for room in rooms}, "bookings": bookings, "prices": prices}
        wishes = [_wish(rng, task, rooms[0], numbers[0])]
        if rng.random() < SIDE_SHARE:
            wishes.insert(rng.randint(0, 1), _side_question(rng, task, numbers[1]))
        asked = " and then ".join(wish["text"] for wish in wishes)
        task["wishes"] = wishes
        task["opening"] = f"{rng.choice(OPENERS)}{asked}. this is {people[0]}."
        calls = Environment.reference_solution(task)
        task["skill_calls"] = [place for place, call in enumerate(calls) if "text" in call]
        return task

    def reset(self, seed):
        task = self.generate_task(seed)
        self._desk = _Desk(task)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["opening"]}]

    def step(self, call):
        desk = self._begun()
        if desk.over:
            return {"observation": _line({"error": "the conversation is over"}), "done": True}
        return {"observation": desk.act(call), "done": desk.over}

    def say(self, text):
        desk = self._begun()
        if desk.over:
            return {"observation": "the conversation is over", "done": True}
        return {"observation": desk.hear(text), "done": desk.over}

    def _begun(self):
        if self._desk is None:
            raise RuntimeError("the episode has not begun; call reset(seed) first")
        return self._desk

    @staticmethod
    def evaluate(trajectory, task):
        """1 for the extra and an answer with the sum; 0.6 for the sum with another fault; 0.2 without the sum."""
        desk = _replay(trajectory, task)
        place = next(place for place, wish in enumerate(task["wishes"]) if "calls" in wish)
        wish = task["wishes"][place]
        said = desk.answers[place] if place < len(desk.answers) else ""
        added = desk.changes() == [["add_extra", *wish["calls"][0]["arguments"].values()]]
        if said != wish["answer"]:
            return 0.2 if added and said == wish["short"] else 0.05 if added else 0.0
        right = added and desk.answers == [wish["answer"] for wish in task["wishes"]]
        return 1.0 if right else 0.6

    @staticmethod
    def reference_solution(task):
        steps = []
        for wish in task["wishes"]:
            steps += [wish["look"]] if "look" in wish else wish["calls"]
            steps.append({"text": wish["answer"]})
        return steps
