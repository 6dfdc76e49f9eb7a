"""The lost-property office of an airport: it looks for things, hands them over, sends them home, and answers in text.

One instance serves one episode. Standard library only, one file, no clock: everything follows from the seed. Tags and
names of held-out tasks are pairs that no train task and no demonstration has.

    0 .. 999_999            train tasks
    1_000_000 .. 1_999_999  held-out tasks
    2_000_000 ..            demonstrations from which the agent's model was made

`evaluate` replays the trajectory on a fresh state, so it depends on the trajectory and the task alone.
"""

import json
import random
import re

HELD_OUT_FROM = 1_000_000
DEMONSTRATIONS_FROM = 2_000_000
MAX_STEPS = 10
WISH = " have a good flight"
# A reference solution is a list of calls, so a text in it is a call of this name. No tool has it: agents speak in text.
SAY = "say"
QUESTION = re.compile(r"is ([A-Z][a-z]*) still right")

FIRST = "Abel Bea Cleo Dina Egon Faye Gino Hugo Ilse Joel Kira Liam Mona Nina Oren Petra".split()
LAST = "Abbott Barker Cooper Dixon Ellis Foster Gibson Harper Irving Jordan Keller Lawson Murphy Norris Oakley Palmer"
LAST = LAST.split()
ITEMS = "Bag Camera Coat Guitar Hat Keys Laptop Phone Ring Scarf Umbrella Wallet".split()
HALLS = "Bus Cafe Chapel Customs Gate Lift Lounge Taxi".split()
TOWNS = "Basel Cairo Delhi Kiev Lima Malmo Oslo Porto Quito Rome Tokyo Vienna".split()
STATES = ["open", "waiting"]

# Kinds of task and their weights in percent. "first+second" asks for two things in one message, each of which needs a
# habit. "-searched", "-more" and "-same" are exceptions: they look like the kind before the dash, but the habit that it
# needs does harm.
MIX = {
    "report": 17,
    "collect": 17,
    "send": 17,
    "report-searched": 5,
    "collect-more": 5,
    "send-same": 5,
    "fee": 8,
    "news": 7,
    "close": 7,
    "report+collect": 4,
    "collect+send": 4,
    "report+send": 4,
}
FOUND_SHARE = 0.5
MOVED_SHARE = 0.5
NEEDS = {"report": "search-before-report", "collect": "close-the-report", "send": "ask-for-the-town"}

PHRASES = {
    "report": [
        "i lost my {item} at the {hall}",
        "my {item} is gone since the {hall}",
        "report my {item} lost at the {hall}",
    ],
    "report-searched": [
        "i lost my {item} at the {hall} and a clerk has searched",
        "a clerk has searched for my {item} so report it lost at the {hall}",
        "report my {item} lost at the {hall} as a clerk has searched",
    ],
    "collect": ["i come for tag {tag}", "give me tag {tag}", "tag {tag} is mine so hand it over"],
    "collect-more": [
        "i come for tag {tag} but i miss more",
        "give me tag {tag} but i miss more",
        "tag {tag} is mine so hand it over but i miss more",
    ],
    "send": ["send tag {tag} home", "i want tag {tag} sent home", "please get tag {tag} to my town"],
    "send-same": [
        "send tag {tag} home as my town is the same",
        "my town is the same so i want tag {tag} sent home",
        "please get tag {tag} to my town which is the same",
    ],
    "fee": ["what does it cost to {town}", "how much is a parcel to {town}", "price to {town} please"],
    "news": ["how is report {report}", "what about my report {report}", "is there news on report {report}"],
    "close": ["i found it so close report {report}", "close report {report} please", "i do not need report {report}"],
}
SMALL_TALK = ["", "", "good morning. ", "my flight is soon. ", "i came from far. "]

POLICY = """You are the assistant at the lost property office of an airport. Act with the tools, and answer the owner in
plain text, one answer for each request.
Rules:
1. Before a loss is reported, find_item looks for the thing in the store. What is there is not reported: the owner is
   told its tag. If a clerk has searched already, do not search again, because each search closes the store.
2. Read a tag with get_item before you hand it over or send it. When a thing is handed over, close its report. An owner
   who misses more still needs the report: leave it open.
3. Before a thing is sent home, ask the owner whether the town on file is still right, and send it to the town that the
   owner names. An owner who says that the town is the same is not asked again.
4. Change nothing that the owner did not ask for.
Ask in these words: "is Oslo still right". Answer in these words: "Coat is reported", "Coat is here as tag 4152", "tag
4152 is handed over", "tag 4152 goes to Oslo", "Oslo costs 81", "report 12 is open", "report 12 is closed". "have a good
flight" at the end of the last answer is welcome, not required."""


def _tool(name: str, description: str, /, **properties: str) -> dict:
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_ITEM, _HALL, _NAME = "Kind of thing, e.g. Coat.", "Where it was lost, e.g. Gate.", "First and last name of the owner."
_TAG, _TOWN, _REPORT = "Number of a thing, e.g. 4152.", "Name of a town, e.g. Oslo.", "Number of a report, e.g. 12."

TOOLS = [
    _tool("find_item", "Looks for a lost thing in the store: its tag, or none.", item=_ITEM, hall=_HALL),
    _tool("file_report", "Reports a thing as lost.", name=_NAME, item=_ITEM, hall=_HALL),
    _tool("get_item", "Reads a tag: kind of thing, report, and the owner's town on file.", tag=_TAG),
    _tool("hand_over", "Hands a thing over to its owner.", tag=_TAG, name=_NAME),
    _tool("send_item", "Sends a thing to a town.", tag=_TAG, town=_TOWN),
    _tool("get_report", "Reads the state of a report.", report=_REPORT),
    _tool("close_report", "Closes a report.", report=_REPORT),
    _tool("get_fee", "Reads the fee for a parcel to a town.", town=_TOWN),
]
_PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS}
# Looks that are always allowed. All else has to be exactly what the requests and the policy ask for.
_FREE = ("get_item", "get_report", "get_fee")


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _call(name: str, /, **arguments: str) -> dict:
    return {"name": name, "arguments": arguments}


def _split(pairs: list[tuple], held_out: bool) -> list[tuple]:
    """A quarter of the pairs for held-out tasks, the others for training. Drawn at random: a rule would be learned."""
    shuffled = random.Random("lost-property").sample(pairs, len(pairs))
    quarter = len(pairs) // 4
    return shuffled[:quarter] if held_out else shuffled[quarter:]


# By whether the task is held out. Reports have numbers from 10 to 29, fees are 80 to 99.
NAMES = {held_out: _split([(a, b) for a in FIRST for b in LAST], held_out) for held_out in (False, True)}
TAGS = {
    held_out: _split([(a, b) for a in range(30, 50) for b in range(50, 80)], held_out) for held_out in (False, True)
}


def _tags(rng: random.Random, count: int, held_out: bool) -> list[str]:
    """Numbers of four digits, no two of which begin or end alike."""
    chosen: list[tuple] = []
    while len(chosen) < count:
        head, tail = rng.choice(TAGS[held_out])
        if all(head != other[0] and tail != other[1] for other in chosen):
            chosen.append((head, tail))
    return [f"{head}{tail}" for head, tail in chosen]


def _request(rng: random.Random, part: str, tag: str, report: str, item: str) -> dict:
    """One request of a kind, with its words and what it names."""
    kind, _, exception = part.partition("-")
    values = {"item": item, "hall": rng.choice(HALLS), "tag": tag, "town": rng.choice(TOWNS), "report": report}
    return {"kind": kind, "exception": exception, "text": rng.choice(PHRASES[part]).format(**values), **values}


def solve(task: dict, request: dict) -> list[dict]:
    """The right steps of one request: its calls and texts, the answer last."""
    kind, plain = request["kind"], not request["exception"]
    item, hall, tag, report = (request[key] for key in ("item", "hall", "tag", "report"))
    if kind == "report":
        there = task["store"].get(f"{item} {hall}", "none") if plain else "none"
        steps = [_call("find_item", item=item, hall=hall)] if plain else []
        if there != "none":
            return [*steps, {"text": f"{item} is here as tag {there}"}]
        return [*steps, _call("file_report", name=task["name"], item=item, hall=hall), {"text": f"{item} is reported"}]
    if kind in ("collect", "send"):
        thing, steps = task["things"][tag], [_call("get_item", tag=tag)]
        if kind == "collect":
            steps.append(_call("hand_over", tag=tag, name=task["name"]))
            if plain:
                steps.append(_call("close_report", report=thing["report"]))
            return [*steps, {"text": f"tag {tag} is handed over"}]
        if plain:
            steps.append({"text": f"is {thing['town']} still right"})
        town = thing["home"] if plain else thing["town"]
        return [*steps, _call("send_item", tag=tag, town=town), {"text": f"tag {tag} goes to {town}"}]
    if kind == "fee":
        town = request["town"]
        return [_call("get_fee", town=town), {"text": f"{town} costs {task['fees'][town]}"}]
    if kind == "news":
        return [_call("get_report", report=report), {"text": f"report {report} is {task['reports'][report]}"}]
    return [_call("close_report", report=report), {"text": f"report {report} is closed"}]


def _as_event(step: dict) -> str:
    """A call or a question as text, to be compared."""
    return step["text"] if "text" in step else json.dumps(step, sort_keys=True)


class _State:
    """What the steps of one episode have asked and changed, and what the owner has been told."""

    def __init__(self, task: dict):
        self.task = task
        self.reports = dict(task["reports"])
        self.things = dict(task["things"])
        # Searches, changes and questions, in order.
        self.events: list[str] = []
        self.answers: list[str] = []
        self.steps = 0
        self.done = False

    def call(self, call: dict) -> dict:
        """Runs one tool call."""
        self._count()
        return {"observation": self._answer(call), "done": self.done}

    def hear(self, text: str) -> dict:
        """The owner's turn after a text of the desk: about the town, the second request, or the end."""
        self._count()
        asked = QUESTION.fullmatch(text)
        if asked:
            self.events.append(text)
            return {"observation": self._town(asked[1]), "done": self.done}
        self.answers.append(text)
        if len(self.answers) < len(self.task["requests"]):
            return {"observation": "good. and the other thing.", "done": self.done}
        self.done = True
        return {"observation": "bye", "done": True}

    def _town(self, named: str) -> str:
        for request in self.task["requests"]:
            if request["kind"] == "send":
                home = self.task["things"][request["tag"]]["home"]
                return f"yes it is {home}" if home == named else f"no it is {home} now"
        return "i told you all"

    def _count(self) -> None:
        self.steps += 1
        self.done = self.done or self.steps >= MAX_STEPS

    def _answer(self, call: dict) -> str:
        name, given = call.get("name"), call.get("arguments")
        wanted = _PARAMETERS.get(name) if isinstance(name, str) else None
        if wanted is None or not isinstance(given, dict) or set(given) != set(wanted):
            return '{"error":"bad call"}'
        if any(type(value) is not str for value in given.values()):
            return '{"error":"bad call"}'
        known = {
            "item": ITEMS,
            "hall": HALLS,
            "town": TOWNS,
            "name": [self.task["name"]],
            "tag": self.things,
            "report": self.reports,
        }
        fault = next((key for key in given if given[key] not in known[key]), None)
        if fault:
            return _compact({"error": f"no such {fault}"})
        if name not in _FREE:
            self.events.append(_as_event({"name": name, "arguments": given}))
        return self._done(name, given)

    def _done(self, name: str, given: dict) -> str:
        if name == "find_item":
            there = self.task["store"].get(f"{given['item']} {given['hall']}", "none")
            return _compact({"item": given["item"], "hall": given["hall"], "tag": there})
        if name == "get_item":
            thing = self.things[given["tag"]]
            return _compact({"tag": given["tag"], **{key: thing[key] for key in ("item", "report", "town")}})
        if name == "get_report":
            return _compact({"report": given["report"], "state": self.reports[given["report"]]})
        if name == "get_fee":
            return _compact({"town": given["town"], "fee": self.task["fees"][given["town"]]})
        if name == "close_report":
            del self.reports[given["report"]]
        if name in ("hand_over", "send_item"):
            del self.things[given["tag"]]
        return '{"ok":true}'

    def place(self, step: dict) -> int:
        """The place of the first event that is this step; -1 where there is none."""
        event = _as_event(step)
        return self.events.index(event) if event in self.events else -1


def _looks_first(request: dict) -> bool:
    """Whether the habit that a request needs is a step that comes before another one."""
    return request["kind"] in ("report", "send") and not request["exception"]


def _success(state: _State) -> bool:
    """True when searches, questions, changes and answers are those that the requests and the policy ask for."""
    wanted, sentences = [], []
    for request in state.task["requests"]:
        *steps, answer = solve(state.task, request)
        sentences.append(answer["text"])
        counted = [step for step in steps if step.get("name") not in _FREE]
        wanted += [_as_event(step) for step in counted]
        # The search, or the question, comes before what it is for.
        places = [state.place(step) for step in counted]
        if _looks_first(request) and places != sorted(places):
            return False
    if sorted(state.events) != sorted(wanted):
        return False
    answers = state.answers[:]
    if answers:
        answers[-1] = answers[-1].removesuffix(WISH)
    return answers == sentences


def _diagnostics(state: _State) -> dict:
    """ "lacking" or "present" for each capability that the episode called for and that its steps show."""
    task, found = state.task, {}
    for request in task["requests"]:
        kind, tag = request["kind"], request["tag"]
        if kind not in NEEDS or request["exception"]:
            continue
        thing = task["things"][tag]
        if kind == "collect":
            if state.place(_call("hand_over", tag=tag, name=task["name"])) >= 0:
                found[NEEDS[kind]] = state.place(_call("close_report", report=thing["report"])) >= 0
            continue
        if kind == "report":
            item, hall = request["item"], request["hall"]
            looked = state.place(_call("find_item", item=item, hall=hall))
            acted = state.place(_call("file_report", name=task["name"], item=item, hall=hall))
            wrong = acted >= 0 and f"{item} {hall}" in task["store"]
        else:
            looked = state.place({"text": f"is {thing['town']} still right"})
            sent = [state.place(_call("send_item", tag=tag, town=town)) for town in TOWNS]
            acted, wrong = max(sent), False
        if looked >= 0 or acted >= 0:
            found[NEEDS[kind]] = looked >= 0 and not 0 <= acted < looked and not wrong
    if state.answers:
        found["wish-a-good-flight"] = state.answers[-1].endswith(WISH)
    return {name: "present" if ok else "lacking" for name, ok in found.items()}


def _spoken(call: dict) -> str:
    """The text of a `SAY` call; empty where it has none."""
    given = call.get("arguments")
    text = given.get("text") if isinstance(given, dict) else None
    return text if isinstance(text, str) else ""


class Environment:
    """One conversation at the lost-property office."""

    def __init__(self) -> None:
        self._state: _State | None = None

    @staticmethod
    def tools() -> list[dict]:
        """The office's OpenAI function tools. Texts to the owner are no tool."""
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        """The hidden task of a seed: owner, things, store, reports, requests, opening message and the needs as tags."""
        rng = random.Random(f"lost-property:{seed}")
        held_out = HELD_OUT_FROM <= seed < DEMONSTRATIONS_FROM
        kind = rng.choices(list(MIX), weights=list(MIX.values()))[0]
        name = " ".join(rng.choice(NAMES[held_out]))
        *tags, there = _tags(rng, 3, held_out)
        numbers = [str(number) for number in rng.sample(range(10, 30), 4)]
        things = {}
        for tag, report in zip(tags, numbers, strict=False):
            town, other = rng.sample(TOWNS, 2)
            home = other if rng.random() < MOVED_SHARE else town
            things[tag] = {"item": rng.choice(ITEMS), "report": report, "town": town, "home": home}
        parts = kind.split("+")
        if len(parts) == 2 and rng.random() < 0.5:
            parts.reverse()
        items = rng.sample(ITEMS, 2)
        requests = [_request(rng, part, tags[i], numbers[2 + i], items[i]) for i, part in enumerate(parts)]
        store = {}
        for request in requests:
            if request["kind"] == "report" and not request["exception"] and rng.random() < FOUND_SHARE:
                store[f"{request['item']} {request['hall']}"] = there
        asked = " and then ".join(request["text"] for request in requests)
        return {
            "seed": seed,
            "kind": kind,
            "name": name,
            "things": things,
            "store": store,
            "reports": {number: rng.choice(STATES) for number in numbers},
            "fees": {town: rng.randint(80, 99) for town in TOWNS},
            "requests": requests,
            "message": f"{rng.choice(SMALL_TALK)}{asked}. i am {name}.",
            "tags": [NEEDS[part] for part in parts if part in NEEDS],
        }

    def reset(self, seed: int) -> list[dict]:
        """Starts the episode of a seed and returns the policy and the owner's first message."""
        task = self.generate_task(seed)
        self._state = _State(task)
        return [{"role": "system", "content": POLICY}, {"role": "user", "content": task["message"]}]

    def step(self, call: dict) -> dict:
        """Runs one tool call."""
        state = self._running()
        if state.done:
            return {"observation": '{"error":"it is over"}', "done": True}
        return state.hear(_spoken(call)) if call.get("name") == SAY else state.call(call)

    def say(self, text: str) -> dict:
        """Takes a question or an answer; the observation is what the owner says next."""
        state = self._running()
        return state.hear(text) if not state.done else {"observation": "bye", "done": True}

    def _running(self) -> _State:
        if self._state is None:
            raise RuntimeError("there is no episode yet; call reset(seed) first")
        return self._state

    @staticmethod
    def evaluate(trajectory: list[dict], task: dict) -> dict:
        """Reward 1 when all that was done and said is right under the policy, else 0; with diagnostics."""
        state = _State(task)
        for entry in trajectory:
            if state.done:
                break
            if "text" in entry:
                state.hear(entry["text"])
            elif entry["call"].get("name") == SAY:
                state.hear(_spoken(entry["call"]))
            else:
                state.call(entry["call"])
        return {"reward": 1.0 if _success(state) else 0.0, "diagnostics": _diagnostics(state)}

    @staticmethod
    def reference_solution(task: dict) -> list[dict]:
        """Calls that follow the policy and earn reward 1; a text is a call of `SAY`."""
        steps = [step for request in task["requests"] for step in solve(task, request)]
        return [step if "name" in step else _call(SAY, text=step["text"]) for step in steps]
