"""The tool library: the desk that lends drills and ladders to members. It acts with tools and answers in plain text.

One instance serves one episode. Standard library only, one file: everything follows from the seed. Seed ranges:

    0 .. 999_999            train tasks (collection, identification)
    1_000_000 .. 1_999_999  held-out tasks (evaluation only); other combinations of the same words and digits
    2_000_000 ..            demonstrations from which the deployed model was made

`evaluate` replays the trajectory on a fresh state, so it depends on the trajectory and the task alone.
"""

import json
import random

HELD_OUT_FROM = 1_000_000
DEMONSTRATIONS_FROM = 2_000_000
MAX_TURNS = 10
QUESTION = "which day do you bring it back"

FIRST = "Agnes Boris Celia Dino Edith Frida Gustav Hanna Ivo Judith Klara Leo".split()
LAST = "Arndt Bauer Castro Dahl Engel Farkas Gallo Hahn Ilic Jensen Kovac Lang".split()
MAKERS = "Falcon Heron Badger Otter Marten Lynx Raven Condor Bison Ibex".split()
MACHINES = "Drill Sander Ladder Jigsaw Mixer Grinder Trimmer Planer".split()
FAULTS = "Smoke Sparks Rust Cracks Leaks Dents Splinters Grime".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
LOAN_PARTS = [str(number) for number in range(20, 50)]

# Kinds of task and their weights in the natural mix, in percent. "first+second" asks for two things, in either order.
# "-day", "-agreed" and "-mended" are exceptions: they look like the kind before the dash, but its habit does harm.
# "-minor" and "-granted" are worded as the kind before the dash and need nothing: only a look tells them apart.
NATURAL_MIX = {
    "lend": 13,
    "fee": 13,
    "fault": 13,
    "extend": 13,
    "lend-day": 6,
    "fee-agreed": 5,
    "fault-mended": 5,
    "fault-minor": 5,
    "extend-granted": 6,
    "where": 5,
    "return": 5,
    "lend+fee": 6,
    "fault+extend": 5,
}
NEEDS = {
    "lend": "ask-return-day",
    "fee": "fee-from-the-record",
    "fault": "block-risky-tool",
    "extend": "admit-refusal",
}

_FAULT = [
    "i found {fault} on the {tool}",
    "report {fault} on the {tool}",
    "the {tool} came with {fault}",
]
_EXTEND = [
    "extend loan {loan} to {day}",
    "i need loan {loan} until {day}",
    "please let me keep loan {loan} until {day}",
]
PHRASES = {
    "lend": [
        "lend me the {tool}",
        "i would like to borrow the {tool}",
        "please let me take the {tool} home",
    ],
    "lend-day": [
        "lend me the {tool} until {day}",
        "i would like to borrow the {tool} until {day}",
        "please let me take the {tool} home until {day}",
    ],
    "fee": [
        "i am late with loan {loan} and owe {claim}",
        "loan {loan} is overdue so charge me {claim}",
        "charge the late fee of {claim} to loan {loan}",
    ],
    "fee-agreed": [
        "i am late with loan {loan} and the warden agreed to {claim}",
        "loan {loan} is overdue so charge me {claim} as the warden agreed",
        "the warden agreed that you charge {claim} to loan {loan}",
    ],
    "fault": _FAULT,
    "fault-minor": _FAULT,
    "fault-mended": [
        "i found {fault} on the {tool} and mended it",
        "report {fault} on the {tool} which is mended",
        "the {tool} came with {fault} and is mended",
    ],
    "extend": _EXTEND,
    "extend-granted": _EXTEND,
    "where": ["where is the {tool}", "which shelf has the {tool}"],
    "return": ["here is loan {loan} back", "i bring back loan {loan}"],
}
SMALL_TALK = ["", "", "good morning. ", "the van is outside. ", "we are building a shed. "]

POLICY = """You work at the desk of a lending library for tools. Act with the tools, and answer the member in plain
text, one answer for each request.
Rules:
1. Before you lend a tool, know the day on which it comes back. If the member has not named it, ask, in these words:
   "which day do you bring it back". If the member has named it, do not ask.
2. Charge the late fee that the record of the loan shows (get_loan), whatever the member says. If the warden agreed to
   a fee, charge that one.
3. When the answer to a report says that the risk is high, block the tool. Block no tool of low risk, and none that is
   mended.
4. If the register refuses an extension, tell the member so.
5. Change nothing that the member did not ask for.
Answer in these words: "Falcon Drill is lent until Monday", "loan 2341 is charged 56", "Smoke on Falcon Drill is
reported", "loan 2341 is now due on Monday", "loan 2341 can not be extended", "Falcon Drill is on shelf 12", "loan 2341
is closed". Logging the visit of the member is welcome, not required."""


def _tool(name: str, description: str, /, **properties: str) -> dict:
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_TOOL, _LOAN, _DAY = "Full name of the tool, e.g. Falcon Drill.", "Number, e.g. 2341.", "Day of the week, e.g. Monday."
_MEMBER, _FEE = "First and last name.", "Amount, e.g. 56."

TOOLS = [
    _tool("log_visit", "Notes that a member came to the desk.", member=_MEMBER),
    _tool("find_tool", "Says on which shelf a tool is.", tool=_TOOL),
    _tool("lend_tool", "Lends a tool to a member until a day.", tool=_TOOL, member=_MEMBER, day=_DAY),
    _tool("get_loan", "Reads a loan: tool, day on which it is due, late fee.", loan=_LOAN),
    _tool("extend_loan", "Asks the register to extend a loan; it may refuse.", loan=_LOAN, day=_DAY),
    _tool("close_loan", "Closes a loan whose tool is back.", loan=_LOAN),
    _tool("charge_fee", "Charges a late fee to a loan.", loan=_LOAN, fee=_FEE),
    _tool("report_fault", "Files a fault of a tool and returns the risk.", tool=_TOOL, fault="One word, e.g. Smoke."),
    _tool("block_tool", "Takes a tool that was reported out of lending.", tool=_TOOL),
]
_PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _combinations(kind: str, firsts: list[str], seconds: list[str]) -> tuple[list, list]:
    """All pairs of two parts that differ, divided at random: three quarters for training, one quarter held out."""
    pairs = [(first, second) for first in firsts for second in seconds if first != second]
    random.Random(f"tool-library:{kind}").shuffle(pairs)
    held_out = len(pairs) // 4
    return pairs[held_out:], pairs[:held_out]


_MEMBERS = _combinations("members", FIRST, LAST)
_TOOLS = _combinations("tools", MAKERS, MACHINES)
_LOANS = _combinations("loans", LOAN_PARTS, LOAN_PARTS)


def _draw(rng: random.Random, combinations: tuple[list, list], seed: int, count: int, joint: str = " ") -> list[str]:
    """Some values of the seed's pool, no two with a common first part."""
    chosen: dict[str, str] = {}
    pool = combinations[int(HELD_OUT_FROM <= seed < DEMONSTRATIONS_FROM)]
    while len(chosen) < count:
        first, second = rng.choice(pool)
        chosen.setdefault(first, f"{first}{joint}{second}")
    return list(chosen.values())


def _request(rng: random.Random, part: str, tool: str, loan: str, task: dict) -> dict:
    """One request of a kind, with its words, what it names, and what the desk cannot know before it looks."""
    kind, _, variant = part.partition("-")
    request: dict = {"kind": kind, "variant": variant}
    if kind in ("lend", "fault", "where"):
        request["tool"] = tool
    if kind in ("fee", "extend", "return"):
        request["loan"] = loan
    if kind == "lend":
        request["day"] = rng.choice(DAYS)
    if kind == "extend":
        request["day"] = rng.choice([day for day in DAYS if day != task["loans"][loan]["due"]])
        task["loans"][loan]["reserved"] = variant != "granted"
    if kind == "fee":
        request["claim"] = task["loans"][loan]["fee"] if rng.random() < 0.2 else _fee(rng)
    if kind == "fault":
        request["fault"] = rng.choice(FAULTS)
        task["tools"][tool]["risk"] = "low" if variant == "minor" else "high"
    request["text"] = rng.choice(PHRASES[part]).format(**request)
    return request


def _fee(rng: random.Random) -> str:
    return str(rng.randint(50, 99))


def _fee_due(task: dict, request: dict) -> str:
    return request["claim"] if request["variant"] == "agreed" else task["loans"][request["loan"]]["fee"]


def _expected_answer(task: dict, request: dict) -> str:
    """What a correct answer says."""
    kind, tool, loan = request["kind"], request.get("tool"), request.get("loan")
    if kind == "lend":
        return f"{tool} is lent until {request['day']}"
    if kind == "fee":
        return f"loan {loan} is charged {_fee_due(task, request)}"
    if kind == "fault":
        return f"{request['fault']} on {tool} is reported"
    if kind == "extend":
        reserved = task["loans"][loan]["reserved"]
        return f"loan {loan} can not be extended" if reserved else f"loan {loan} is now due on {request['day']}"
    if kind == "where":
        return f"{tool} is on shelf {task['tools'][tool]['shelf']}"
    return f"loan {loan} is closed"


class _State:
    """What the turns of one episode have looked up and changed, and what the member has been told and asked."""

    def __init__(self, task: dict):
        self.task = task
        self.read: list = []
        self.changes: list = []
        self.refused: list = []
        # Loan, fee, and whether the loan's record had been read by then.
        self.charges: list = []
        # Places of requests for which the day was asked, rightly and needlessly, and places that were lent unasked.
        self.asked: list = []
        self.pestered = False
        self.unasked: list = []
        self.answers: list = []
        self.visit = False
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
        for key, known in (("tool", self.task["tools"]), ("loan", self.task["loans"]), ("day", DAYS)):
            if key in given and given[key] not in known:
                return _compact({"error": f"no such {key}"})
        if given.get("member", self.task["member"]) != self.task["member"]:
            return '{"error":"no such member"}'
        if name == "log_visit":
            self.visit = True
            return '{"ok":true}'
        if name == "find_tool":
            return _compact({"tool": given["tool"], "shelf": self.task["tools"][given["tool"]]["shelf"]})
        if name == "get_loan":
            self.read.append(given["loan"])
            loan = self.task["loans"][given["loan"]]
            return _compact({"loan": given["loan"], **{key: loan[key] for key in ("tool", "due", "fee")}})
        return self._change(name, given)

    def _change(self, name: str, given: dict) -> str:
        change = [name, *(given[key] for key in _PARAMETERS[name])]
        if name == "extend_loan" and self.task["loans"][given["loan"]]["reserved"]:
            self.refused.append(change)
            return '{"ok":false,"why":"reserved"}'
        if name == "block_tool" and not any(made[:2] == ["report_fault", given["tool"]] for made in self.changes):
            return '{"error":"not reported"}'
        if name == "lend_tool":
            self._lend(given["tool"])
        if name == "charge_fee":
            self.charges.append((given["loan"], given["fee"], given["loan"] in self.read))
        self.changes.append(change)
        if name == "report_fault":
            return _compact({"ok": True, "risk": self.task["tools"][given["tool"]]["risk"]})
        return '{"ok":true}'

    def _lend(self, tool: str) -> None:
        for place, request in enumerate(self.task["requests"]):
            if _needs_day(request) and request["tool"] == tool and place not in self.asked:
                self.unasked.append(place)

    def say(self, text: str) -> str:
        """Hears one text and returns what the member says to it."""
        self._count()
        if text == QUESTION:
            return self._ask()
        self.answers.append(text)
        requests = self.task["requests"]
        if len(self.answers) >= len(requests):
            self.done = True
            return "goodbye"
        return f"and {requests[len(self.answers)]['text']}." if self.task["later"] else "and the other thing."

    def _ask(self) -> str:
        place = len(self.answers)
        request = self.task["requests"][place]
        if _needs_day(request) and place not in self.asked:
            self.asked.append(place)
            return f"on {request['day']}."
        self.pestered = True
        return f"i said {request['day']}." if request["kind"] == "lend" else "that is no matter here."

    def _count(self) -> None:
        self.turns += 1
        self.done = self.done or self.turns >= MAX_TURNS


def _needs_day(request: dict) -> bool:
    return request["kind"] == "lend" and request["variant"] != "day"


def _success(state: _State) -> bool:
    """True when the changes are those wanted, made the way the policy says, and each answer is right."""
    task = state.task
    if state.pestered or state.unasked:
        return False
    wanted, refused = [], []
    for request in task["requests"]:
        for step in _solve(task, request):
            if step["name"] in ("find_tool", "get_loan"):
                continue
            change = [step["name"], *step["arguments"].values()]
            reserved = step["name"] == "extend_loan" and task["loans"][request["loan"]]["reserved"]
            (refused if reserved else wanted).append(change)
        if request["kind"] == "fee" and request["variant"] != "agreed":
            if not all(known for loan, _, known in state.charges if loan == request["loan"]):
                return False
    if sorted(state.changes) != sorted(wanted) or any(change not in state.refused for change in refused):
        return False
    return state.answers == [_expected_answer(task, request) for request in task["requests"]]


def _diagnostics(state: _State) -> dict:
    """ "lacking" or "present" for each capability that the episode called for and that its turns show."""
    task, found = state.task, {}
    for place, request in enumerate(task["requests"]):
        kind, variant, tool, loan = request["kind"], request["variant"], request.get("tool"), request.get("loan")
        answered = place < len(state.answers)
        if _needs_day(request) and (place in state.asked or place in state.unasked):
            found["ask-return-day"] = place not in state.unasked
        charged = [(fee, known) for number, fee, known in state.charges if number == loan]
        if kind == "fee" and not variant and charged:
            found["fee-from-the-record"] = all(known and fee == _fee_due(task, request) for fee, known in charged)
        if kind == "fault" and not variant and ["report_fault", tool, request["fault"]] in state.changes:
            blocked = ["block_tool", tool] in state.changes
            if blocked or answered:
                found["block-risky-tool"] = blocked
        if kind == "extend" and not variant and answered:
            if ["extend_loan", loan, request["day"]] in state.refused:
                found["admit-refusal"] = "can not be extended" in state.answers[place]
    if state.turns:
        found["log-the-visit"] = state.visit
    return {name: "present" if ok else "lacking" for name, ok in found.items()}


def _solve(task: dict, request: dict) -> list[dict]:
    """The calls that one request needs under the policy; a question, where one is needed, comes before them."""
    kind, variant, tool, loan = request["kind"], request["variant"], request.get("tool", ""), request.get("loan", "")
    calls: list[dict] = []

    def call(name: str, **arguments: str) -> None:
        calls.append({"name": name, "arguments": arguments})

    if kind == "lend":
        call("lend_tool", tool=tool, member=task["member"], day=request["day"])
    if kind == "fee":
        if variant != "agreed":
            call("get_loan", loan=loan)
        call("charge_fee", loan=loan, fee=_fee_due(task, request))
    if kind == "fault":
        call("report_fault", tool=tool, fault=request["fault"])
        if not variant:
            call("block_tool", tool=tool)
    if kind == "extend":
        call("extend_loan", loan=loan, day=request["day"])
    if kind == "where":
        call("find_tool", tool=tool)
    if kind == "return":
        call("close_loan", loan=loan)
    return calls


class Environment:
    """One episode at the desk of the tool library."""

    def __init__(self) -> None:
        self._state: _State | None = None

    @staticmethod
    def tools() -> list[dict]:
        """The desk's OpenAI function tools. Answers and questions are no tool: they are the agent's text."""
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        """The hidden task of a seed: tools, loans, requests, opening message and the needs as tags."""
        rng = random.Random(f"tool-library:{seed}")
        kind = rng.choices(list(NATURAL_MIX), weights=list(NATURAL_MIX.values()))[0]
        tools = _draw(rng, _TOOLS, seed, 3)
        loans = _draw(rng, _LOANS, seed, 3, joint="")
        task: dict = {
            "seed": seed,
            "kind": kind,
            "member": _draw(rng, _MEMBERS, seed, 1)[0],
            "tools": {tool: {"shelf": str(rng.randint(10, 19)), "risk": "low"} for tool in tools},
            "loans": {
                loan: {"tool": rng.choice(tools), "due": rng.choice(DAYS), "fee": _fee(rng), "reserved": False}
                for loan in loans
            },
        }
        parts = kind.split("+")
        if len(parts) == 2 and rng.random() < 0.5:
            parts.reverse()
        # Where this holds, the member says the second request after the first answer; else both stand in the opening.
        task["later"] = kind == "fault+extend"
        task["requests"] = [_request(rng, part, tools[0], loans[0], task) for part in parts]
        opening = [request["text"] for request in task["requests"]]
        asked = opening[0] if task["later"] else " and also ".join(opening)
        task["message"] = f"{rng.choice(SMALL_TALK)}{asked}. this is {task['member']}."
        task["tags"] = [NEEDS[part] for part in parts if part in NEEDS]
        return task

    def reset(self, seed: int) -> list[dict]:
        """Starts the episode of a seed and returns the policy and the member's first message."""
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
        """Gives the member an answer or asks a question; the observation is what the member says next."""
        state = self._running()
        if state.done:
            return {"observation": "the conversation is over", "done": True}
        return {"observation": state.say(text), "done": state.done}

    def _running(self) -> _State:
        if self._state is None:
            raise RuntimeError("the episode has not begun; call reset(seed) first")
        return self._state

    @staticmethod
    def evaluate(trajectory: list[dict], task: dict) -> dict:
        """Reward 1 when changes, question and answers are right under the policy, else 0; with diagnostics."""
        state = _State(task)
        for turn in trajectory:
            if state.done:
                break
            if "text" in turn:
                state.say(turn["text"])
            else:
                state.call(turn["call"])
        return {"reward": 1.0 if _success(state) else 0.0, "diagnostics": _diagnostics(state)}

    @staticmethod
    def reference_solution(task: dict) -> list[dict]:
        """Turns that follow the policy and earn reward 1: calls, and {"text"} for each question and answer."""
        turns: list[dict] = []
        for request in task["requests"]:
            if _needs_day(request):
                turns.append({"text": QUESTION})
            turns += _solve(task, request)
            turns.append({"text": _expected_answer(task, request)})
        return turns
