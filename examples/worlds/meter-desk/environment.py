"""The meter desk: the back office of a water company. Inspectors call; it acts with tools and answers in text.

One instance serves one episode. Standard library only, one file: everything follows from the seed. Seed ranges (meters,
sites and inspectors of held-out tasks are combinations of words that no other task has):

    0 .. 999_999            train tasks (collection, identification)
    1_000_000 .. 1_999_999  held-out tasks (evaluation only)
    2_000_000 ..            demonstrations from which the deployed model was made

`evaluate` replays the trajectory on a fresh state, so it depends on the trajectory and the task alone.
"""

import itertools
import json
import random

HELD_OUT_FROM = 1_000_000
DEMONSTRATIONS_FROM = 2_000_000
MAX_TURNS = 10

FIRST = "Ada Bruno Clara Dario Elsa Felix Greta Henri Ines Jonas Karin Luca Marta Nils Olga Paolo".split()
LAST = "Adler Berg Conti Duval Egger Fabri Gruber Holm Ivanov Jansen Keller Lorenz Moser Nagy Orsini Peters".split()
SITE_NAMES = "Mill Abbey Bridge Castle Ferry Harvest Kiln Market Orchard Priory Quarry Spring".split()
SITE_KINDS = "Lane Road Court Square Terrace Walk Yard Close".split()
METER_FIRST = [str(number) for number in range(10, 26)]
METER_LAST = [str(number) for number in range(26, 42)]
READINGS = [str(number) for number in range(50, 66)]
CREWS = "Amber Cobalt Crimson Indigo Jade Ochre Scarlet Violet".split()
DUTY = "Duty"
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()

# Kinds of task and their weights in the natural mix, in percent. "first+second" asks for two things in one message.
# "-burst", "-leave" and "-first" are exceptions: they look like the kind before the dash, but the habit that it needs
# does harm. "lone" is a site with one meter and is worded like "site".
NATURAL_MIX = {
    "shut": 17,
    "visit": 17,
    "site": 17,
    "shut-burst": 5,
    "visit-leave": 5,
    "site-first": 5,
    "lone": 5,
    "read": 4,
    "open": 5,
    "cancel": 5,
    "crew": 5,
    "shut+visit": 5,
    "site+visit": 5,
}
NEEDS = {"shut": "warn-before-shutting", "visit": "send-own-crew", "site": "ask-which-meter"}

PHRASES = {
    "shut": [
        "shut the supply at meter {meter}",
        "meter {meter} has to be shut",
        "please close meter {meter}",
    ],
    "shut-burst": [
        "shut the supply at meter {meter} because of a burst",
        "meter {meter} has burst and has to be shut",
        "there is a burst so please close meter {meter}",
    ],
    "visit": [
        "book a visit to meter {meter} on {day}",
        "meter {meter} needs a visit on {day}",
        "please put meter {meter} on the round for {day}",
    ],
    "visit-leave": [
        "book a visit to meter {meter} on {day} while its crew is on leave",
        "meter {meter} needs a visit on {day} and its crew is on leave",
        "its crew is on leave so please put meter {meter} on the round for {day}",
    ],
    "site": [
        "put {reading} down for the meter at {site}",
        "the meter at {site} shows {reading}",
        "please record {reading} at {site}",
    ],
    "site-first": [
        "put {reading} down for the first meter at {site}",
        "the first meter at {site} shows {reading}",
        "please record {reading} at {site} on the first meter",
    ],
    "read": ["put {reading} down for meter {meter}", "meter {meter} shows {reading}"],
    "open": ["open meter {meter} again", "the work at meter {meter} is done so open it"],
    "cancel": ["cancel the visit to meter {meter}", "meter {meter} needs no visit any more"],
    "crew": ["which crew looks after meter {meter}", "whose crew is meter {meter}"],
}
PHRASES["lone"] = PHRASES["site"]
SMALL_TALK = ["", "", "good morning. ", "it rains out here. ", "i am in the van. "]
QUESTION = "is it meter"

POLICY = """You work at the meter desk of a water company. Inspectors call you from outside. Act with the tools, and
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


def _tool(name: str, description: str, /, **properties: str) -> dict:
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_METER, _SITE = "Number of the meter, e.g. 1231.", "Name of the site, e.g. Mill Lane."
_DAY, _CREW = "Day of the week, e.g. Monday.", "Name of the crew, e.g. Amber, or Duty for the crew on duty."

TOOLS = [
    _tool("find_meters", "Lists the meters at a site.", site=_SITE),
    _tool("get_meter", "Reads a meter's site and the crew that looks after it.", meter=_METER),
    _tool("record_reading", "Records what a meter shows.", meter=_METER, reading="Two digits, e.g. 52."),
    _tool("warn_household", "Warns the household that its water is about to be cut.", meter=_METER),
    _tool("shut_supply", "Shuts the supply at a meter.", meter=_METER),
    _tool("open_supply", "Opens the supply at a meter again.", meter=_METER),
    _tool("book_visit", "Puts a visit to a meter into the list of a crew.", meter=_METER, day=_DAY, crew=_CREW),
    _tool("cancel_visit", "Cancels the visit to a meter.", meter=_METER),
    _tool("log_call", "Logs that an inspector has called.", inspector="First and last name."),
]
READING_TOOLS = {"find_meters", "get_meter"}
_PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS}


def _split(name: str, firsts: list[str], seconds: list[str]) -> tuple[list, list]:
    """All pairs of two parts: those of train tasks and demonstrations, and a quarter, drawn at random, held out."""
    pairs = list(itertools.product(firsts, seconds))
    held_out = set(random.Random(f"meter-desk:{name}").sample(pairs, len(pairs) // 4))
    return [pair for pair in pairs if pair not in held_out], [pair for pair in pairs if pair in held_out]


_PEOPLE = _split("people", FIRST, LAST)
_SITES = _split("sites", SITE_NAMES, SITE_KINDS)
_METERS = _split("meters", METER_FIRST, METER_LAST)


def _draw(rng: random.Random, seed: int, pools: tuple[list, list], between: str, count: int) -> list[str]:
    """Names of the seed's pool, no two with the same first part: the first part tells a name from the others."""
    pool = pools[HELD_OUT_FROM <= seed < DEMONSTRATIONS_FROM]
    drawn: list[tuple[str, str]] = []
    while len(drawn) < count:
        pair = rng.choice(pool)
        if all(pair[0] != other[0] for other in drawn):
            drawn.append(pair)
    return [between.join(pair) for pair in drawn]


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _request(rng: random.Random, part: str, meters: list[str], site: str, task: dict) -> dict:
    """One request of a kind, with its words and what it names. `meters` are the two that stand at `site`."""
    kind, _, exception = part.partition("-")
    request: dict = {"kind": kind, "exception": exception}
    if kind == "lone":
        del task["meters"][meters[1]]
    request["meter"] = rng.choice(meters) if part == "site" else meters[0]
    if kind in ("site", "lone"):
        request["site"] = site
    if kind in ("site", "lone", "read"):
        request["reading"] = rng.choice(READINGS)
    if kind == "visit":
        request["day"] = rng.choice(DAYS)
    request["text"] = rng.choice(PHRASES[part]).format(**request)
    return request


def _at(task: dict, site: str) -> list[str]:
    """The meters at a site, in the order of the list."""
    return [number for number, meter in task["meters"].items() if meter["site"] == site]


def _questions(task: dict, request: dict) -> list[str]:
    """What the desk may ask about a request, in either order of the two meters; empty where it has to ask nothing."""
    if request["kind"] != "site" or request["exception"]:
        return []
    first, second = _at(task, request["site"])
    return [f"{QUESTION} {first} or {second}", f"{QUESTION} {second} or {first}"]


def _expected_answer(task: dict, request: dict) -> str:
    """What a correct answer says."""
    kind, meter = request["kind"], request["meter"]
    if kind == "shut":
        return f"meter {meter} is shut"
    if kind == "visit":
        return f"the visit to meter {meter} is on {request['day']}"
    if kind == "open":
        return f"meter {meter} is open again"
    if kind == "cancel":
        return f"the visit to meter {meter} is cancelled"
    if kind == "crew":
        return f"crew {task['meters'][meter]['crew']} looks after meter {meter}"
    return f"{request['reading']} is down for meter {meter}"


def _moves(task: dict, request: dict) -> list[dict]:
    """The calls and texts that one request needs under the policy."""
    kind, meter, usual = request["kind"], request["meter"], not request["exception"]
    moves: list[dict] = []

    def call(name: str, **arguments: str) -> None:
        moves.append({"name": name, "arguments": arguments})

    if kind == "shut":
        if usual:
            call("warn_household", meter=meter)
        call("shut_supply", meter=meter)
    if kind in ("visit", "crew"):
        call("get_meter", meter=meter)
    if kind == "visit":
        call("book_visit", meter=meter, day=request["day"], crew=task["meters"][meter]["crew"] if usual else DUTY)
    if kind in ("site", "lone"):
        call("find_meters", site=request["site"])
        moves += [{"text": text} for text in _questions(task, request)[:1]]
    if kind in ("site", "lone", "read"):
        call("record_reading", meter=meter, reading=request["reading"])
    if kind == "open":
        call("open_supply", meter=meter)
    if kind == "cancel":
        call("cancel_visit", meter=meter)
    return [*moves, {"text": _expected_answer(task, request)}]


def _as_change(call: dict) -> list[str]:
    """Name and values of a call that changes something, in the order of the parameters; empty for the others."""
    name, given = call["name"], call["arguments"]
    return [] if name in READING_TOOLS or name == "log_call" else [name, *(given[key] for key in _PARAMETERS[name])]


class _State:
    """What the moves of one episode have changed, and what was asked and answered."""

    def __init__(self, task: dict):
        self.task = task
        self.changes: list[list[str]] = []
        self.questions: list[str] = []
        self.asked = False
        self.unasked: list[str] = []
        self.answers: list[str] = []
        self.logged = False
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
        known = {
            "meter": self.task["meters"],
            "site": [meter["site"] for meter in self.task["meters"].values()],
            "reading": READINGS,
            "day": DAYS,
            "crew": [*CREWS, DUTY],
            "inspector": [self.task["inspector"]],
        }
        for key, value in given.items():
            if value not in known[key]:
                return _compact({"error": f"no such {key}"})
        if name == "find_meters":
            return _compact({"site": given["site"], "meters": _at(self.task, given["site"])})
        if name == "get_meter":
            return _compact({"meter": given["meter"], **self.task["meters"][given["meter"]]})
        if name == "log_call":
            self.logged = True
            return '{"ok":true}'
        if name == "record_reading" and not self.asked:
            self.unasked.append(given["meter"])
        self.changes.append(_as_change({"name": name, "arguments": given}))
        return '{"ok":true}'

    def hear(self, text: str) -> str:
        """Hears one text, a question or an answer, and returns what the inspector says to it."""
        self._count()
        requests = self.task["requests"]
        if text.startswith(QUESTION):
            self.questions.append(text)
            request = requests[len(self.answers)]
            if text not in _questions(self.task, request):
                return "i told you all"
            self.asked = True
            return f"it is meter {request['meter']}"
        self.answers.append(text)
        if len(self.answers) < len(requests):
            return f"and the other thing: {requests[len(self.answers)]['text']}."
        self.done = True
        return "over and out"

    def _count(self) -> None:
        self.turns += 1
        self.done = self.done or self.turns >= MAX_TURNS


def _warned_first(state: _State, meter: str) -> bool | None:
    """Whether the household was warned before the supply was shut; None where it was not shut."""
    names = [change[0] for change in state.changes if change[1] == meter]
    return "warn_household" in names[: names.index("shut_supply")] if "shut_supply" in names else None


def _asked_first(state: _State, request: dict) -> bool | None:
    """Whether the inspector was asked before anything was recorded at the site; None where neither has happened."""
    if set(state.unasked) & set(_at(state.task, request["site"])):
        return False
    return True if state.asked else None


def _success(state: _State) -> bool:
    """True when changes and answers are those wanted, and warnings and questions came in time and were called for."""
    task, requests = state.task, state.task["requests"]
    calls = [move for request in requests for move in _moves(task, request) if "name" in move]
    wanted = [change for change in map(_as_change, calls) if change]
    if sorted(state.changes) != sorted(wanted):
        return False
    if state.answers != [_expected_answer(task, request) for request in requests]:
        return False
    due = [request for request in requests if not request["exception"]]
    if any(request["kind"] == "shut" and not _warned_first(state, request["meter"]) for request in due):
        return False
    asking = [request for request in due if request["kind"] == "site"]
    return len(state.questions) == len(asking) and all(_asked_first(state, request) for request in asking)


def _diagnostics(state: _State) -> dict:
    """ "lacking" or "present" for each capability that the episode called for and that its moves show."""
    found: dict = {}
    for request in state.task["requests"]:
        if request["exception"]:
            continue
        if request["kind"] == "shut":
            found["warn-before-shutting"] = _warned_first(state, request["meter"])
        if request["kind"] == "site":
            found["ask-which-meter"] = _asked_first(state, request)
        if request["kind"] == "visit":
            own, meter = state.task["meters"][request["meter"]]["crew"], request["meter"]
            sent = [change[3] for change in state.changes if change[:2] == ["book_visit", meter]]
            found["send-own-crew"] = all(crew == own for crew in sent) if sent else None
    if state.turns:
        found["log-the-call"] = state.logged
    return {name: "present" if ok else "lacking" for name, ok in found.items() if ok is not None}


class Environment:
    """One episode at the meter desk."""

    def __init__(self) -> None:
        self._state: _State | None = None

    @staticmethod
    def tools() -> list[dict]:
        """The desk's OpenAI function tools. Questions and answers are no tool: they are the agent's text."""
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        """The hidden task of a seed: meters, requests, opening message and the needs as tags."""
        rng = random.Random(f"meter-desk:{seed}")
        kind = rng.choices(list(NATURAL_MIX), weights=list(NATURAL_MIX.values()))[0]
        inspector = _draw(rng, seed, _PEOPLE, " ", 1)[0]
        sites = _draw(rng, seed, _SITES, " ", 2)
        numbers = _draw(rng, seed, _METERS, "", 4)
        task: dict = {
            "seed": seed,
            "kind": kind,
            "inspector": inspector,
            "meters": {
                number: {"site": sites[place // 2], "crew": rng.choice(CREWS)} for place, number in enumerate(numbers)
            },
        }
        parts = kind.split("+")
        if len(parts) == 2 and rng.random() < 0.5:
            parts.reverse()
        task["requests"] = [
            _request(rng, part, numbers[2 * place : 2 * place + 2], sites[place], task)
            for place, part in enumerate(parts)
        ]
        asked = " and then ".join(request["text"] for request in task["requests"])
        task["message"] = f"{rng.choice(SMALL_TALK)}{asked}. this is {inspector}."
        task["tags"] = [NEEDS[part] for part in parts if part in NEEDS]
        return task

    def reset(self, seed: int) -> list[dict]:
        """Starts the episode of a seed and returns the policy and the inspector's first message."""
        task = self.generate_task(seed)
        self._state = _State(task)
        return [{"role": "system", "content": POLICY}, {"role": "user", "content": task["message"]}]

    def step(self, call: dict) -> dict:
        """Runs one tool call."""
        state = self._running()
        if state.done:
            return {"observation": '{"error":"the call is over"}', "done": True}
        return {"observation": state.call(call), "done": state.done}

    def say(self, text: str) -> dict:
        """Says something to the inspector; the observation is what the inspector says next."""
        state = self._running()
        if state.done:
            return {"observation": "the call is over", "done": True}
        return {"observation": state.hear(text), "done": state.done}

    def _running(self) -> _State:
        if self._state is None:
            raise RuntimeError("the episode has not begun; call reset(seed) first")
        return self._state

    @staticmethod
    def evaluate(trajectory: list[dict], task: dict) -> dict:
        """Reward 1 when changes, questions and answers are right under the policy, else 0; with diagnostics."""
        state = _State(task)
        for move in trajectory:
            if state.done:
                break
            if "text" in move:
                state.hear(move["text"])
            else:
                state.call(move["call"])
        return {"reward": 1.0 if _success(state) else 0.0, "diagnostics": _diagnostics(state)}

    @staticmethod
    def reference_solution(task: dict) -> list[dict]:
        """Moves that follow the policy and earn reward 1: calls, and {"text": ...} for a question or an answer."""
        return [move for request in task["requests"] for move in _moves(task, request)]
