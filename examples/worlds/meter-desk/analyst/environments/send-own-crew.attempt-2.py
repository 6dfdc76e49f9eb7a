"""Training environment: send a visit to the meter's own crew, and to Duty only where that crew is on leave.

Why it transfers: system message, tools, formats of observations and kinds of openings are those of the meter desk. A
visit is asked for in the same words, the crew stands nowhere but in the answer of get_meter, and whether the crew is on
leave is known from what the inspector says. What decides the reward is the crew of book_visit: the crew that get_meter
named where nothing was said about leave, Duty where the inspector said that the crew is on leave. The habit that fails
in the target, Duty by default, earns a tenth; so does the own crew where it is on leave. Meters, crews, days, sites and
names are drawn anew in each task, so that only reading the request and the answer of get_meter helps.
"""

from __future__ import annotations

import json
import random

SYSTEM = """You work at the meter desk of a water company. Inspectors call you from outside. Act with the tools, and
answer in plain text, one answer for each request.
Rules:
1. Before you shut the supply at a meter, warn the household with warn_household. If there is a burst, shut at once and
   warn nobody: every minute counts, and the crew on the spot tells the neighbours.
2. A visit goes to the meter's own crew, as get_meter names it. If that crew is on leave, book the crew Duty: a visit in
   the list of a crew on leave is not made.
3. A reading goes to one meter. If find_meters lists two at the site, ask the inspector which one before you record
   anything: "is it meter 1231 or 1437". If the inspector said that it is the first meter, take the first of the list;
   if there is one meter only, take it. Do not ask what you have been told.
4. Change nothing that the inspector did not ask for.
Answer in these words: "meter 1231 is shut", "the visit to meter 1231 is on Monday", "52 is down for meter 1231",
"meter 1231 is open again", "the visit to meter 1231 is cancelled", "crew Amber looks after meter 1231". Logging the
call under the inspector's name with log_call is welcome, not required."""


def _tool(name: str, description: str, arguments: dict) -> dict:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {key: {"type": "string", "description": text} for key, text in arguments.items()},
                "required": list(arguments),
                "additionalProperties": False,
            },
        },
    }


TOOLS = [
    _tool("find_meters", "Lists the meters at a site.", {"site": "Name of the site, e.g. Mill Lane."}),
    _tool(
        "get_meter",
        "Reads a meter's site and the crew that looks after it.",
        {"meter": "Number of the meter, e.g. 1231."},
    ),
    _tool(
        "record_reading",
        "Records what a meter shows.",
        {"meter": "Number of the meter, e.g. 1231.", "reading": "Two digits, e.g. 52."},
    ),
    _tool(
        "warn_household",
        "Warns the household that its water is about to be cut.",
        {"meter": "Number of the meter, e.g. 1231."},
    ),
    _tool("shut_supply", "Shuts the supply at a meter.", {"meter": "Number of the meter, e.g. 1231."}),
    _tool("open_supply", "Opens the supply at a meter again.", {"meter": "Number of the meter, e.g. 1231."}),
    _tool(
        "book_visit",
        "Puts a visit to a meter into the list of a crew.",
        {
            "meter": "Number of the meter, e.g. 1231.",
            "day": "Day of the week, e.g. Monday.",
            "crew": "Name of the crew, e.g. Amber, or Duty for the crew on duty.",
        },
    ),
    _tool("cancel_visit", "Cancels the visit to a meter.", {"meter": "Number of the meter, e.g. 1231."}),
    _tool("log_call", "Logs that an inspector has called.", {"inspector": "First and last name."}),
]
ARGUMENTS = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS}
CHANGES = ("record_reading", "warn_household", "shut_supply", "open_supply", "book_visit", "cancel_visit")

CREWS = ["Jade", "Ochre", "Crimson", "Indigo", "Scarlet", "Cobalt", "Amber", "Violet"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
READINGS = [str(number) for number in range(50, 65)]
FIRST = "Ada Clara Dario Elsa Felix Greta Henri Ines Jonas Karin Nils".split()
LAST = "Adler Berg Conti Duval Egger Fabri Gruber Holm Ivanov Jansen Keller Lorenz Moser Nagy Peters".split()
PLACES = "Abbey Bridge Castle Ferry Harvest Kiln Market Mill Orchard Priory Quarry Spring".split()
STREETS = "Close Court Lane Road Square Terrace Walk Yard".split()
GREETINGS = ["", "", "good morning. ", "it rains out here. ", "i am in the van. "]

MAX_MOVES = 16


def _meters(rng: random.Random, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        meter = f"{rng.randint(10, 25)}{rng.randint(26, 41)}"
        if meter not in found:
            found.append(meter)
    return found


def _sites(rng: random.Random, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        site = f"{rng.choice(PLACES)} {rng.choice(STREETS)}"
        if site not in found:
            found.append(site)
    return found


def _opening(task: dict) -> str:
    return f"{task['greeting']}{' and then '.join(task['requests'])}. this is {task['inspector']}."


def _dump(value: dict) -> str:
    return json.dumps(value, separators=(",", ":"))


class _Desk:
    """The desk in one episode. It is played by the environment and played again by evaluate."""

    def __init__(self, task: dict) -> None:
        self.task = task
        self.sites = task["sites"]
        self.crews = {meter: crew for meter, crew in task["crews"]}
        self.events: list[tuple[str, dict]] = []
        self.answers = 0
        self.moves = 0
        self.over = False

    def _move(self) -> bool:
        if self.over:
            return False
        self.moves += 1
        return True

    def _result(self, observation: str) -> dict:
        if self.moves >= MAX_MOVES:
            self.over = True
        return {"observation": observation, "done": self.over}

    def _error(self, name, arguments) -> str | None:
        if not isinstance(name, str) or name not in ARGUMENTS:
            return "no such tool"
        if not isinstance(arguments, dict):
            return "no arguments"
        for key in ARGUMENTS[name]:
            value = arguments.get(key)
            known = isinstance(value, str) and value != ""
            if known and key == "site":
                known = value in [site for site, _ in self.sites]
            elif known and key == "meter":
                known = value in self.crews
            elif known and key == "day":
                known = value in DAYS
            elif known and key == "crew":
                known = value == "Duty" or value in CREWS
            elif known and key == "inspector":
                known = value == self.task["inspector"]
            elif known and key == "reading":
                known = len(value) == 2 and value.isdigit()
            if not known:
                return f"no such {key}"
        for key in arguments:
            if key not in ARGUMENTS[name]:
                return "no such argument"
        return None

    def call(self, call) -> dict:
        if not self._move():
            return {"observation": _dump({"error": "the call is over"}), "done": True}
        name = call.get("name") if isinstance(call, dict) else None
        arguments = call.get("arguments") if isinstance(call, dict) else None
        error = self._error(name, arguments)
        if error is not None:
            return self._result(_dump({"error": error}))
        self.events.append((name, dict(arguments)))
        if name == "find_meters":
            meters = next(meters for site, meters in self.sites if site == arguments["site"])
            return self._result(_dump({"site": arguments["site"], "meters": meters}))
        if name == "get_meter":
            meter = arguments["meter"]
            site = next(site for site, meters in self.sites if meter in meters)
            return self._result(_dump({"meter": meter, "site": site, "crew": self.crews[meter]}))
        return self._result(_dump({"ok": True}))

    def text(self, text) -> dict:
        if not self._move():
            return {"observation": _dump({"error": "the call is over"}), "done": True}
        pair = self.task.get("pair")
        if pair and isinstance(text, str) and all(meter in text for meter in pair):
            self.events.append(("asked", {}))
            return self._result(f"it is meter {self.task['meter']}")
        self.answers += 1
        if self.answers >= len(self.task["requests"]):
            self.over = True
            return self._result("")
        return self._result(f"and the other thing: {self.task['requests'][self.answers]}.")

    def answered(self) -> bool:
        return self.answers >= len(self.task["requests"])


def _replay(trajectory, task: dict) -> _Desk:
    desk = _Desk(task)
    for move in trajectory if isinstance(trajectory, list) else []:
        if isinstance(move, dict) and "call" in move:
            desk.call(move["call"])
        elif isinstance(move, dict) and "text" in move:
            desk.text(move["text"])
    return desk


VISITS = ["book a visit to meter {meter} on {day}", "please put meter {meter} on the round for {day}"]
VISITS.append("meter {meter} needs a visit on {day}")


def _task(rng: random.Random) -> dict:
    kind = rng.random()
    leave = kind < 0.14
    double = kind >= 0.85
    meter, near, other, far = _meters(rng, 4)
    here, there = _sites(rng, 2)
    day = rng.choice(DAYS)
    visit = rng.choice(VISITS).format(meter=meter, day=day)
    if leave:
        visit = rng.choice([f"{visit} and its crew is on leave", f"its crew is on leave so {visit}"])
    requests = [visit]
    if double:
        requests.insert(rng.randint(0, 1), f"whose crew is meter {other}")
    task = {
        "greeting": rng.choice(GREETINGS),
        "inspector": f"{rng.choice(FIRST)} {rng.choice(LAST)}",
        "requests": requests,
        "sites": [[here, rng.sample([meter, near], 2)], [there, rng.sample([other, far], 2)]],
        "crews": [[number, rng.choice(CREWS)] for number in (meter, near, other, far)],
        "meter": meter,
        "day": day,
        "leave": leave,
        "other": other if double else "",
        "log": rng.random() < 0.5,
    }
    task["crew"] = "Duty" if leave else task["crews"][0][1]
    names = [move.get("name") for move in _solution(task)]
    task["skill_calls"] = [names.index("book_visit")]
    return task


def _solution(task: dict) -> list[dict]:
    moves: list[dict] = []
    if task["log"]:
        moves.append({"name": "log_call", "arguments": {"inspector": task["inspector"]}})
    for request in task["requests"]:
        if request.startswith("whose crew"):
            crew = dict(task["crews"])[task["other"]]
            moves.append({"name": "get_meter", "arguments": {"meter": task["other"]}})
            moves.append({"text": f"crew {crew} looks after meter {task['other']}"})
        else:
            booking = {"meter": task["meter"], "day": task["day"], "crew": task["crew"]}
            moves.append({"name": "get_meter", "arguments": {"meter": task["meter"]}})
            moves.append({"name": "book_visit", "arguments": booking})
            moves.append({"text": f"the visit to meter {task['meter']} is on {task['day']}"})
    return moves


def _score(desk: _Desk, task: dict) -> float:
    looked = {arguments["meter"] for name, arguments in desk.events if name == "get_meter"}
    booking = None
    unasked = False
    for name, arguments in desk.events:
        if name == "book_visit" and arguments["meter"] == task["meter"]:
            booking = arguments
        elif name in CHANGES:
            unasked = True
    if booking is None:
        return 0.05 if task["meter"] in looked else 0.0
    if booking["crew"] != task["crew"]:
        return 0.1 if booking["day"] == task["day"] else 0.05
    if booking["day"] != task["day"] or unasked:
        return 0.3
    if task["other"] and task["other"] not in looked:
        return 0.6
    return 1.0 if desk.answered() else 0.7


def _hint(task: dict) -> str:
    if task["leave"]:
        return "The inspector says that the crew is on leave: book the visit for the crew Duty."
    return "Nobody said that the crew is on leave: book the visit for the crew that get_meter names, not for Duty."


class Environment:
    def __init__(self) -> None:
        self._desk: _Desk | None = None

    @staticmethod
    def tools() -> list[dict]:
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        return _task(random.Random(seed))

    def reset(self, seed: int) -> list[dict]:
        task = self.generate_task(seed)
        self._desk = _Desk(task)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": _opening(task)}]

    def step(self, call: dict) -> dict:
        if self._desk is None:
            return {"observation": _dump({"error": "the call is over"}), "done": True}
        return self._desk.call(call)

    def say(self, text: str) -> dict:
        if self._desk is None:
            return {"observation": _dump({"error": "the call is over"}), "done": True}
        return self._desk.text(text)

    @staticmethod
    def evaluate(trajectory: list[dict], task: dict) -> float:
        return float(_score(_replay(trajectory, task), task))

    @staticmethod
    def reference_solution(task: dict) -> list[dict]:
        return _solution(task)

    @staticmethod
    def hints(task: dict) -> list[str]:
        return [_hint(task)]
