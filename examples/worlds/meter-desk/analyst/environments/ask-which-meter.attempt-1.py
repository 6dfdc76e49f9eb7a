"""Training environment: ask which of two meters a reading belongs to before it is recorded.

Why it transfers: system message, tools, formats of observations and kinds of openings are those of the meter desk. A
reading is given for a site in the same words, find_meters lists two meters, and only the inspector knows which one it
is: the question "is it meter A or B" is answered as in the target. The meter meant is as often the second as the first,
and a reading that was recorded before the question earns a tenth even if it happens to be the right meter. Where the
inspector has said which meter it is, or the site has one only, to record at once earns everything and to ask costs.
Sites, meters, readings and names are drawn anew in each task.
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
FIRST = "Ada Clara Dario Elsa Felix Greta Henri Ines Jonas Luca Marta Nils Olga".split()
LAST = "Adler Berg Conti Duval Egger Fabri Gruber Holm Ivanov Jansen Keller Lorenz Moser Nagy Peters".split()
PLACES = "Abbey Bridge Castle Ferry Harvest Kiln Market Mill Priory Quarry Spring".split()
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


READS = ["the meter at {site} shows {reading}", "please record {reading} at {site}"]
READS.append("put {reading} down for the meter at {site}")
FIRST_READS = ["the first meter at {site} shows {reading}", "please record {reading} for the first meter at {site}"]
FIRST_READS.append("put {reading} down for the first meter at {site}")


def _task(rng: random.Random) -> dict:
    chance = rng.random()
    kind = "first" if chance < 0.08 else "number" if chance < 0.11 else "single" if chance < 0.14 else "two"
    listed = _meters(rng, 1 if kind == "single" else 2)
    (site,) = _sites(rng, 1)
    reading = rng.choice(READINGS)
    if kind == "number":
        meter = rng.choice(listed)
        request = f"meter {meter} shows {reading}"
    else:
        meter = rng.choice(listed) if kind == "two" else listed[0]
        request = rng.choice(FIRST_READS if kind == "first" else READS).format(site=site, reading=reading)
    task = {
        "greeting": rng.choice(GREETINGS),
        "inspector": f"{rng.choice(FIRST)} {rng.choice(LAST)}",
        "requests": [request],
        "sites": [[site, listed]],
        "crews": [[number, rng.choice(CREWS)] for number in listed],
        "kind": kind,
        "pair": listed if len(listed) == 2 else [],
        "meter": meter,
        "reading": reading,
        "log": rng.random() < 0.5,
    }
    moves = _solution(task)
    record = [move.get("name") for move in moves].index("record_reading")
    task["skill_calls"] = [record - 1, record] if kind == "two" else [record]
    return task


def _solution(task: dict) -> list[dict]:
    moves: list[dict] = []
    if task["log"]:
        moves.append({"name": "log_call", "arguments": {"inspector": task["inspector"]}})
    if task["kind"] != "number":
        moves.append({"name": "find_meters", "arguments": {"site": task["sites"][0][0]}})
    if task["kind"] == "two":
        moves.append({"text": f"is it meter {task['pair'][0]} or {task['pair'][1]}"})
    moves.append({"name": "record_reading", "arguments": {"meter": task["meter"], "reading": task["reading"]}})
    moves.append({"text": f"{task['reading']} is down for meter {task['meter']}"})
    return moves


def _score(desk: _Desk, task: dict) -> float:
    looked = any(name == "find_meters" for name, _ in desk.events)
    asked = False
    early = False
    unasked = False
    records: dict[str, str] = {}
    for name, arguments in desk.events:
        if name == "asked":
            asked = True
        elif name == "record_reading":
            early = early or not asked
            records[arguments["meter"]] = arguments["reading"]
        elif name in CHANGES:
            unasked = True
    right = records == {task["meter"]: task["reading"]} and not unasked
    if task["kind"] == "two":
        if early:
            return 0.1
        if not asked:
            return 0.05 if looked else 0.0
        if not right:
            return 0.3 if records else 0.2
    else:
        if not records:
            return 0.05 if looked else 0.0
        if asked or not right:
            return 0.1
    return 1.0 if desk.answered() else 0.7


def _hint(task: dict) -> str:
    if task["kind"] == "two":
        return "If find_meters lists two meters, ask the inspector which of them it is before recording the reading."
    return "It is known which meter it is: record the reading without a question."


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
