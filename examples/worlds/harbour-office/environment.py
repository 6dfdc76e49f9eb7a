"""The harbour office: berths, fuel, services and departures of a small harbour. The office answers skippers in text.

One instance serves one episode. Standard library only, one file: everything follows from the seed. Boats and people
of held-out tasks are pairs of words that no train task and no demonstration has.

    0 .. 999_999            train tasks
    1_000_000 .. 1_999_999  held-out tasks
    2_000_000 ..            demonstrations from which the agent's model was made

`evaluate` replays the trajectory on a fresh state, so it depends on the trajectory and the task alone.
"""

import json
import random

HELD_OUT_FROM = 1_000_000
DEMONSTRATIONS_FROM = 2_000_000
MAX_TURNS = 10
FAREWELL = " fair winds"
# A reference solution holds calls only, so an answer in one is a call of this name. No tool has it.
SAY = "say"

FIRST = "Ada Bruno Clara Dario Elsa Felix Greta Henri Ines Jonas Karin Luca Marta Nils Olga Paolo".split()
LAST = "Adler Berg Conti Duval Egger Fabri Gruber Holm Ivanov Jansen Keller Lorenz Moser Nagy Orsini Peters".split()
COLOURS = "Amber Black Crimson Golden Green Ivory Jade Lilac Pearl Red Ruby Scarlet Silver Violet White Yellow".split()
ANIMALS = "Badger Crane Dolphin Falcon Gull Heron Kestrel Lynx Marlin Otter Plover Raven Seal Tern Urchin Whale".split()
SERVICES = "Ice Water Power Laundry Bait Rope Paint Charts".split()
PUMPS = "North South East West".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()

# Kinds of task, and how many of each there are among 100 seeds. "first+second" asks for two things in one message.
# "-own", "-guard", "-next" and "-self" are exceptions: they look like the kind before the dash, but the habit that it
# needs does harm.
MIX = {
    "berth": 14,
    "leave": 13,
    "fuel": 13,
    "charge": 14,
    "fuel+leave": 10,
    "berth-own": 4,
    "leave-guard": 4,
    "fuel-next": 4,
    "charge-self": 4,
    "lift": 7,
    "owner": 7,
    "fee": 6,
}
NEEDS = {
    "berth": "read-the-berth",
    "leave": "debt-before-leaving",
    "fuel": "lock-the-pump",
    "charge": "charge-the-owner",
}

PHRASES = {
    "berth": [
        "put the {boat} on berth {berth}",
        "the {boat} wants berth {berth}",
        "berth {berth} for the {boat} please",
    ],
    "berth-own": [
        "put the {boat} on my own berth {berth}",
        "the {boat} wants my own berth {berth}",
        "my own berth {berth} for the {boat} please",
    ],
    "leave": ["let the {boat} leave", "the {boat} wants to leave", "may the {boat} leave please"],
    "leave-guard": [
        "let the {boat} leave as the guard orders",
        "the guard orders the {boat} to leave",
        "the guard wants the {boat} to leave please",
    ],
    "fuel": [
        "fuel the {boat} at pump {pump}",
        "the {boat} wants fuel at pump {pump}",
        "fuel for the {boat} at pump {pump} please",
    ],
    "fuel-next": [
        "fuel the {boat} at pump {pump} and the next boat waits",
        "the {boat} wants fuel at pump {pump} and the next boat waits",
        "the next boat waits so fuel the {boat} at pump {pump} please",
    ],
    "charge": ["put {service} on the {boat}", "the {boat} wants {service}", "{service} for the {boat} please"],
    "charge-self": [
        "put {service} on the {boat} and i pay",
        "the {boat} wants {service} and i pay",
        "i pay {service} for the {boat} please",
    ],
    "lift": [
        "lift the {boat} on {day}",
        "the {boat} wants the crane on {day}",
        "the crane for the {boat} on {day} please",
    ],
    "owner": ["who owns the {boat}", "whose boat is the {boat}", "the owner of the {boat} please"],
    "fee": ["what does {service} cost", "how much is {service}", "the price of {service} please"],
}
SMALL_TALK = ["", "", "good morning. ", "the sea is rough. ", "we come from far away. "]

POLICY = """You work at the harbour office. Act with the tools, and answer the skipper in plain text, one answer for
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


def _tool(name: str, description: str, /, **properties: str) -> dict:
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_BOAT, _BERTH = "Full name of the boat, e.g. Red Gull.", "Number of the berth, e.g. 23."
_PUMP, _SERVICE = "Name of the pump, e.g. North.", "Name of the service, e.g. Ice."

TOOLS = [
    _tool("get_berth", "Says whether a berth is open or closed, and which one to use.", berth=_BERTH),
    _tool("get_debt", "Reads what a boat owes to the harbour; 0 is nothing.", boat=_BOAT),
    _tool("get_boat", "Reads who owns a boat.", boat=_BOAT),
    _tool("get_fee", "Reads the fee of a service.", service=_SERVICE),
    _tool("assign_berth", "Assigns a berth to a boat.", boat=_BOAT, berth=_BERTH),
    _tool("clear_boat", "Clears a boat, so that it may leave.", boat=_BOAT),
    _tool("fuel_boat", "Opens a pump and fuels a boat there.", boat=_BOAT, pump=_PUMP),
    _tool("lock_pump", "Locks a pump.", pump=_PUMP),
    _tool(
        "charge_service",
        "Orders a service for a boat and charges it to somebody.",
        boat=_BOAT,
        service=_SERVICE,
        payer="First and last name of who pays.",
    ),
    _tool("book_crane", "Books the crane for a boat.", boat=_BOAT, day="Day of the week, e.g. Monday."),
]
READING = ("get_berth", "get_debt", "get_boat", "get_fee")
_PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _split(name: str, firsts: list[str], seconds: list[str]) -> dict[bool, list[tuple[str, str]]]:
    """A quarter of all pairs for held-out tasks, the others for training. Drawn at random: a rule would be learned."""
    pairs = [(first, second) for first in firsts for second in seconds]
    random.Random(f"harbour-office:{name}").shuffle(pairs)
    return {True: pairs[: len(pairs) // 4], False: pairs[len(pairs) // 4 :]}


# By whether the task is held out.
PEOPLE = _split("people", FIRST, LAST)
BOATS = _split("boats", COLOURS, ANIMALS)


def _draw(rng: random.Random, pairs: list[tuple[str, str]], count: int) -> list[str]:
    """Names, no two of which have a word in common."""
    chosen: list[tuple[str, str]] = []
    while len(chosen) < count:
        pair = rng.choice(pairs)
        if not any(set(pair) & set(other) for other in chosen):
            chosen.append(pair)
    return [" ".join(pair) for pair in chosen]


def _kind(seed: int) -> str:
    """The kind of a task. Any 100 seeds from a multiple of 100 on have each kind exactly as often as MIX says."""
    hundred = [kind for kind, count in MIX.items() for _ in range(count)]
    random.Random(f"harbour-office:kinds:{seed // 100}").shuffle(hundred)
    return hundred[seed % 100]


def _request(rng: random.Random, part: str, task: dict) -> dict:
    """One request of a kind, with its words and what it names. All requests of a task are about one boat."""
    kind, _, exception = part.partition("-")
    values = {
        "boat": task["boat"],
        "berth": rng.choice(list(task["berths"])),
        "pump": rng.choice(PUMPS),
        "service": rng.choice(SERVICES),
        "day": rng.choice(DAYS),
    }
    return {"kind": kind, "exception": exception, "text": rng.choice(PHRASES[part]).format(**values), **values}


def _call(name: str, /, **arguments: str) -> dict:
    return {"name": name, "arguments": arguments}


def solve(task: dict, request: dict) -> tuple[list[dict], str]:
    """The calls that one request needs under the policy, and the answer without a farewell."""
    boat, berth, pump, service = (request[key] for key in ("boat", "berth", "pump", "service"))
    kind, usual = request["kind"], not request["exception"]
    if kind == "berth":
        right = task["berths"][berth] if usual else berth
        look = [_call("get_berth", berth=berth)] if usual else []
        return [*look, _call("assign_berth", boat=boat, berth=right)], f"{boat} lies at berth {right}"
    if kind == "leave":
        look = [_call("get_debt", boat=boat)] if usual else []
        if task["debt"] and usual:
            return look, f"{boat} owes {task['debt']}"
        return [*look, _call("clear_boat", boat=boat)], f"{boat} may leave"
    if kind == "fuel":
        lock = [_call("lock_pump", pump=pump)] if usual else []
        return [_call("fuel_boat", boat=boat, pump=pump), *lock], f"{boat} has fuel"
    if kind == "charge":
        look = [_call("get_boat", boat=boat)] if usual else []
        payer = task["owner"] if usual else task["caller"]
        charged = _call("charge_service", boat=boat, service=service, payer=payer)
        return [*look, charged], f"{service} is charged to {payer}"
    if kind == "lift":
        return [_call("book_crane", boat=boat, day=request["day"])], f"{boat} is lifted on {request['day']}"
    if kind == "owner":
        return [_call("get_boat", boat=boat)], f"{boat} belongs to {task['owner']}"
    return [_call("get_fee", service=service)], f"{service} costs {task['fees'][service]}"


class _State:
    """What the turns of one episode have read and changed, and what the skipper has been told."""

    def __init__(self, task: dict):
        self.task = task
        self.read: list[dict] = []
        # Each change with the number of looks that came before it.
        self.changes: list[tuple[dict, int]] = []
        self.answers: list[str] = []
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
            "boat": [task["boat"]],
            "berth": [*task["berths"], *task["berths"].values()],
            "pump": PUMPS,
            "service": SERVICES,
            "payer": [task["caller"], task["owner"]],
            "day": DAYS,
        }
        for key in wanted:
            if given[key] not in known[key]:
                return _compact({"error": f"no such {key}"})
        made = _call(name, **{key: given[key] for key in wanted})
        if name not in READING:
            self.changes.append((made, len(self.read)))
            return '{"ok":true}'
        self.read.append(made)
        if name == "get_berth":
            berth, use = given["berth"], task["berths"].get(given["berth"], given["berth"])
            return _compact({"berth": berth, "state": "open" if use == berth else "closed", "use": use})
        if name == "get_debt":
            return _compact({"boat": given["boat"], "debt": task["debt"]})
        if name == "get_boat":
            return _compact({"boat": given["boat"], "owner": task["owner"]})
        return _compact({"service": given["service"], "fee": task["fees"][given["service"]]})

    def answer(self, text: str) -> str:
        """Hears one answer and returns what the skipper says to it."""
        self._count()
        self.answers.append(text)
        if len(self.answers) < len(self.task["requests"]):
            return "good. and the other thing."
        self.done = True
        return "goodbye"

    def _count(self) -> None:
        self.turns += 1
        self.done = self.done or self.turns >= MAX_TURNS


def _looked(state: _State, look: dict, name: str) -> bool:
    """Whether a look came before the first change by a tool, or at all where there was no such change."""
    first = next((known for change, known in state.changes if change["name"] == name), len(state.read))
    return look in state.read[:first]


def _success(state: _State) -> bool:
    """True when changes and answers are what the requests and the policy ask for, and looks came before changes."""
    wanted, answers = [], []
    for request in state.task["requests"]:
        calls, answer = solve(state.task, request)
        answers.append(answer)
        wanted += [call for call in calls if call["name"] not in READING]
        for look, name in (("get_berth", "assign_berth"), ("get_debt", "clear_boat")):
            if calls[0]["name"] == look and not _looked(state, calls[0], name):
                return False
    made = [change for change, _ in state.changes]
    if sorted(map(_compact, made)) != sorted(map(_compact, wanted)):
        return False
    names = [change["name"] for change in made]
    if "lock_pump" in names and names.index("lock_pump") < names.index("fuel_boat"):
        return False
    return [text.removesuffix(FAREWELL) for text in state.answers] == answers


def _diagnostics(state: _State) -> dict:
    """ "lacking" or "present" for each capability that the episode called for and that its turns show."""
    task, found = state.task, {}
    made = [change for change, _ in state.changes]
    for request in task["requests"]:
        kind = request["kind"]
        if kind not in NEEDS or request["exception"]:
            continue
        name = {"berth": "assign_berth", "leave": "clear_boat", "fuel": "fuel_boat", "charge": "charge_service"}[kind]
        acts = [change for change in made if change["name"] == name]
        calls, _ = solve(task, request)
        if kind in ("berth", "leave"):
            if acts or calls[0] in state.read:
                found[NEEDS[kind]] = _looked(state, calls[0], name) and all(act in calls for act in acts)
        elif acts and kind == "fuel":
            found[NEEDS[kind]] = calls[1] in made[made.index(acts[0]) :]
        elif acts:
            found[NEEDS[kind]] = all(act["arguments"]["payer"] == task["owner"] for act in acts)
    if state.answers:
        found["wish-fair-winds"] = state.answers[-1].endswith(FAREWELL)
    return {name: "present" if ok else "lacking" for name, ok in found.items()}


def _spoken(call: dict) -> str:
    """The text of a `SAY` call; empty where it has none."""
    given = call.get("arguments")
    text = given.get("text") if isinstance(given, dict) else None
    return text if isinstance(text, str) else ""


class Environment:
    """One conversation at the harbour office."""

    def __init__(self) -> None:
        self._state: _State | None = None

    @staticmethod
    def tools() -> list[dict]:
        """The office's OpenAI function tools. Answers to the skipper are no tool: they are the agent's text."""
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        """The hidden task of a seed: boat, people, berths, debt, fees, requests, message and the needs as tags."""
        rng = random.Random(f"harbour-office:{seed}")
        held_out = HELD_OUT_FROM <= seed < DEMONSTRATIONS_FROM
        kind = _kind(seed)
        caller, owner = _draw(rng, PEOPLE[held_out], 2)
        berths = [str(number) for number in rng.sample(range(10, 26), 3)]
        others = [str(number) for number in rng.sample(range(30, 38), 3)]
        # An own berth shows as closed for others, and a boat that the guard sends away has debts.
        exception = kind.partition("-")[2]
        task: dict = {
            "seed": seed,
            "kind": kind,
            "boat": _draw(rng, BOATS[held_out], 1)[0],
            "caller": caller,
            "owner": owner,
            # Which berth to use for each: itself, or another one where it is closed.
            "berths": {
                berth: other if exception == "own" or rng.random() < 0.5 else berth
                for berth, other in zip(berths, others, strict=True)
            },
            "debt": rng.randint(60, 69) if exception == "guard" or rng.random() < 0.5 else 0,
            "fees": {service: rng.randint(80, 89) for service in SERVICES},
        }
        parts = kind.split("+")
        task["requests"] = [_request(rng, part, task) for part in parts]
        asked = " and then ".join(request["text"] for request in task["requests"])
        task["message"] = f"{rng.choice(SMALL_TALK)}{asked}. this is {caller}."
        task["tags"] = [NEEDS[part] for part in parts if part in NEEDS]
        return task

    def reset(self, seed: int) -> list[dict]:
        """Starts the episode of a seed and returns the policy and the skipper's first message."""
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
        """Gives the skipper an answer; the observation is what the skipper says next."""
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
            calls, answer = solve(task, request)
            turns += [*calls, _call(SAY, text=answer)]
        return turns
