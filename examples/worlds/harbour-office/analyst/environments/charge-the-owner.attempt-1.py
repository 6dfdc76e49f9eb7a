"""Services for boats, to practise one thing: look up who owns a boat, and charge the owner.

The skipper who asks is never the owner, so the right payer follows only from get_boat. One skipper in five wants to
pay: then the skipper is charged. Tools, words and observations are the agent's own; only boats, people and services are
drawn anew. So the habit of looking the boat up carries over.
"""

import json
import random

SYSTEM = """You work at the harbour office. Act with the tools, and answer the skipper in plain text, one answer for
each request.
Rules:
1. Read a berth with get_berth before you assign it, and assign the one that the answer says to use: another one where
   it is closed. A skipper's own berth shows as closed for everybody else: assign it all the same.
2. Read the debt of a boat with get_debt before you clear it. A boat with a debt is not cleared: say what it owes. A
   boat that leaves by order of the guard is cleared whatever it owes.
3. Lock the pump with lock_pump when a boat has its fuel. While the next boat waits, leave the pump open.
4. A service is charged to the owner of the boat, as get_boat names the owner. A skipper who wants to pay is charged.
5. Change nothing that the skipper did not ask for.
Answer in these words: "Red Gull lies at berth 23", "Red Gull may leave", "Red Gull owes 67", "Red Gull has fuel",
"Ice is charged to Ada Berg", "Red Gull is lifted on Monday", "Red Gull belongs to Ada Berg", "Ice costs 84".
"fair winds" at the end of an answer is welcome, not required."""

FIRSTS = "Ada Bruno Clara Dario Elsa Felix Greta Henri Ines Jonas Karin Luca Marta Nils Olga Paolo".split()
LASTS = "Adler Berg Conti Duval Egger Fabri Gruber Holm Ivanov Jansen Keller Lorenz Moser Nagy Orsini Peters".split()
COLOURS = "Amber Black Crimson Green Ivory Jade Lilac Pearl Red Ruby Scarlet Silver Violet White Yellow".split()
ANIMALS = "Badger Crane Dolphin Falcon Gull Heron Kestrel Lynx Marlin Otter Plover Raven Seal Tern Urchin Whale".split()
SERVICES = "Ice Bait Paint Rope Charts Power Water Laundry".split()
PUMPS = "West South East North".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday".split()
OPENERS = ["", "good morning. ", "the sea is rough. ", "we come from far away. "]
WISH = " fair winds"
EXCEPTION_SHARE = 0.2
MAX_TURNS = 10

SIGNATURES = {
    "get_berth": ("Says whether a berth is open or closed, and which one to use.", ["berth"]),
    "get_debt": ("Reads what a boat owes to the harbour; 0 is nothing.", ["boat"]),
    "get_boat": ("Reads who owns a boat.", ["boat"]),
    "get_fee": ("Reads the fee of a service.", ["service"]),
    "assign_berth": ("Assigns a berth to a boat.", ["boat", "berth"]),
    "clear_boat": ("Clears a boat, so that it may leave.", ["boat"]),
    "fuel_boat": ("Opens a pump and fuels a boat there.", ["boat", "pump"]),
    "lock_pump": ("Locks a pump.", ["pump"]),
    "charge_service": ("Orders a service for a boat and charges it to somebody.", ["boat", "service", "payer"]),
    "book_crane": ("Books the crane for a boat.", ["boat", "day"]),
}
PARAMETERS = {
    "berth": "Number of the berth, e.g. 23.",
    "boat": "Full name of the boat, e.g. Red Gull.",
    "service": "Name of the service, e.g. Ice.",
    "pump": "Name of the pump, e.g. North.",
    "payer": "First and last name of who pays.",
    "day": "Day of the week, e.g. Monday.",
}
LOOKS = ("get_berth", "get_debt", "get_boat", "get_fee")


def _line(value):
    return json.dumps(value, separators=(",", ":"))


class _Harbour:
    """The harbour during one episode: what was called and said, in order."""

    def __init__(self, task):
        self.task = task
        self.known = {
            "boat": [task["boat"]],
            "berth": [task["berth"], task["use"], *task["others"]],
            "payer": [task["skipper"], task["owner"]],
            **{"service": SERVICES, "pump": PUMPS, "day": DAYS},
        }
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
        if set(given) != set(keys) or any(type(value) is not str or not value for value in given.values()):
            return _line({"error": "bad call"})
        for key in keys:
            if given[key] not in self.known[key]:
                return _line({"error": f"no such {key}"})
        self.log.append([name, *(given[key] for key in keys)])
        if name in LOOKS:
            return _line(self._look(name, *given.values()))
        return _line({"ok": True})

    def _look(self, name, value):
        """What the task says, or for other things what their names decide."""
        task, rng = self.task, random.Random(f"{self.task['number']}/{name}/{value}")
        if name == "get_berth":
            use = task["use"] if value == task["berth"] else value
            return {"berth": value, "state": "open" if use == value else "closed", "use": use}
        if name == "get_debt":
            return {"boat": value, "debt": task["debt"]}
        if name == "get_boat":
            return {"boat": value, "owner": task["owner"]}
        return {"service": value, "fee": rng.randint(80, 89)}

    def hear(self, text):
        self._tick()
        self.answers.append(str(text).removesuffix(WISH))
        self.over = True
        return ""

    def changes(self):
        """Everything but look-ups."""
        return [entry for entry in self.log if entry[0] not in LOOKS]

    def looked(self, *look):
        """Whether this look came before the first change."""
        before = []
        for entry in self.log:
            if entry[0] not in LOOKS:
                break
            before.append(entry)
        return list(look) in before

    def _tick(self):
        self.turns += 1
        self.over = self.over or self.turns >= MAX_TURNS


def _replay(trajectory, task):
    harbour = _Harbour(task)
    for turn in trajectory:
        if harbour.over:
            break
        if "text" in turn:
            harbour.hear(turn["text"])
        else:
            harbour.act(turn["call"])
    return harbour


def _world(rng, seed):
    """A boat, its skipper, and what the looks say about them."""
    skipper, owner = rng.sample([f"{first} {last}" for first in FIRSTS for last in LASTS], 2)
    berth = str(rng.randint(11, 24))
    return {
        "number": seed,
        "boat": f"{rng.choice(COLOURS)} {rng.choice(ANIMALS)}",
        "skipper": skipper,
        "owner": owner,
        "berth": berth,
        "use": berth,
        "others": [str(number) for number in range(11, 38) if rng.random() < 0.33],
        "debt": rng.choice([0, rng.randint(60, 68)]),
        "service": rng.choice(SERVICES),
        "pump": rng.choice(PUMPS),
    }


def _call(name, *values):
    return {"name": name, "arguments": dict(zip(SIGNATURES[name][1], values, strict=True))}


WORDINGS = ["put {service} on the {boat}", "the {boat} wants {service}", "{service} for the {boat} please"]
PAYS = ["put {service} on the {boat} and i pay", "the {boat} wants {service} and i pay"]
SKILL = "get_boat"


def _request(rng, task):
    return rng.choice(PAYS if task["exception"] else WORDINGS).format(**task)


def _solution(task):
    boat, service = task["boat"], task["service"]
    payer = task["skipper"] if task["exception"] else task["owner"]
    look = [] if task["exception"] else [_call("get_boat", boat)]
    return [*look, _call("charge_service", boat, service, payer), {"text": f"{service} is charged to {payer}"}]


def _reward(harbour, task):
    made, answered = harbour.changes(), harbour.answers == [_solution(task)[-1]["text"]]
    by_skipper, by_owner = (
        [["charge_service", task["boat"], task["service"], task[key]]] for key in ("skipper", "owner")
    )
    if task["exception"]:
        return (1.0 if answered else 0.6) if made == by_skipper else 0.2 if made == by_owner else 0.0
    # Nobody guesses an owner, so a look after the charge is as good.
    if ["get_boat", task["boat"]] not in harbour.log:
        return 0.1 if made in (by_skipper, by_owner) else 0.0
    if made != by_owner:
        return 0.45 if made else 0.15
    return 1.0 if answered else 0.6


class Environment:
    """One episode."""

    def __init__(self):
        self._harbour = None

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
        rng = random.Random(f"charge-the-owner/{seed}")
        task = _world(rng, seed)
        task["exception"] = rng.random() < EXCEPTION_SHARE
        request = _request(rng, task)
        task["opening"] = f"{rng.choice(OPENERS)}{request}. this is {task['skipper']}."
        moves = _solution(task)
        shown = [place for place, move in enumerate(moves) if move.get("name") == SKILL]
        task["skill_calls"] = [] if task["exception"] else shown
        return task

    def reset(self, seed):
        task = self.generate_task(seed)
        self._harbour = _Harbour(task)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["opening"]}]

    def step(self, call):
        harbour = self._begun()
        if harbour.over:
            return {"observation": _line({"error": "bad call"}), "done": True}
        return {"observation": harbour.act(call), "done": harbour.over}

    def say(self, text):
        harbour = self._begun()
        if harbour.over:
            return {"observation": "", "done": True}
        return {"observation": harbour.hear(text), "done": harbour.over}

    def _begun(self):
        if self._harbour is None:
            raise RuntimeError("the episode has not begun; call reset(seed) first")
        return self._harbour

    @staticmethod
    def evaluate(trajectory, task):
        """1 for a look and the owner; 0.45 or 0.6 for a look with faults after it; 0.1 for a blind charge."""
        return _reward(_replay(trajectory, task), task)

    @staticmethod
    def reference_solution(task):
        return _solution(task)
