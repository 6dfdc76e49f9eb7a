"""What is learnt here transfers because the desk is the target's: the same system message, tools, answers and kinds of
openings. A member names a late fee that is not the one of the record; the record has to be read before the charge, and
charging what the member says, the habit of the failed episodes, earns little. In an eighth of the tasks the warden
agreed to the fee and the member's number is the right one. A second request, where there is one, is a lending whose day
is named, which the agent can do."""
from __future__ import annotations

import json
import random

SYSTEM = (
    'You work at the desk of a lending library for tools. Act with the tools, and answer the member in plain\n'
    'text, one answer for each request.\n'
    'Rules:\n'
    '1. Before you lend a tool, know the day on which it comes back. If the member has not named it, ask, in these words:\n'
    '   "which day do you bring it back". If the member has named it, do not ask.\n'
    '2. Charge the late fee that the record of the loan shows (get_loan), whatever the member says. If the warden agreed to\n'
    '   a fee, charge that one.\n'
    '3. When the answer to a report says that the risk is high, block the tool. Block no tool of low risk, and none that is\n'
    '   mended.\n'
    '4. If the register refuses an extension, tell the member so.\n'
    '5. Change nothing that the member did not ask for.\n'
    'Answer in these words: "Falcon Drill is lent until Monday", "loan 2341 is charged 56", "Smoke on Falcon Drill is\n'
    'reported", "loan 2341 is now due on Monday", "loan 2341 can not be extended", "Falcon Drill is on shelf 12", "loan 2341\n'
    'is closed". Logging the visit of the member is welcome, not required.'
)

TOOLS = json.loads(r'''[
 {
  "type": "function",
  "function": {
   "name": "log_visit",
   "description": "Notes that a member came to the desk.",
   "parameters": {
    "type": "object",
    "properties": {
     "member": {
      "type": "string",
      "description": "First and last name."
     }
    },
    "required": [
     "member"
    ],
    "additionalProperties": false
   }
  }
 },
 {
  "type": "function",
  "function": {
   "name": "find_tool",
   "description": "Says on which shelf a tool is.",
   "parameters": {
    "type": "object",
    "properties": {
     "tool": {
      "type": "string",
      "description": "Full name of the tool, e.g. Falcon Drill."
     }
    },
    "required": [
     "tool"
    ],
    "additionalProperties": false
   }
  }
 },
 {
  "type": "function",
  "function": {
   "name": "lend_tool",
   "description": "Lends a tool to a member until a day.",
   "parameters": {
    "type": "object",
    "properties": {
     "tool": {
      "type": "string",
      "description": "Full name of the tool, e.g. Falcon Drill."
     },
     "member": {
      "type": "string",
      "description": "First and last name."
     },
     "day": {
      "type": "string",
      "description": "Day of the week, e.g. Monday."
     }
    },
    "required": [
     "tool",
     "member",
     "day"
    ],
    "additionalProperties": false
   }
  }
 },
 {
  "type": "function",
  "function": {
   "name": "get_loan",
   "description": "Reads a loan: tool, day on which it is due, late fee.",
   "parameters": {
    "type": "object",
    "properties": {
     "loan": {
      "type": "string",
      "description": "Number, e.g. 2341."
     }
    },
    "required": [
     "loan"
    ],
    "additionalProperties": false
   }
  }
 },
 {
  "type": "function",
  "function": {
   "name": "extend_loan",
   "description": "Asks the register to extend a loan; it may refuse.",
   "parameters": {
    "type": "object",
    "properties": {
     "loan": {
      "type": "string",
      "description": "Number, e.g. 2341."
     },
     "day": {
      "type": "string",
      "description": "Day of the week, e.g. Monday."
     }
    },
    "required": [
     "loan",
     "day"
    ],
    "additionalProperties": false
   }
  }
 },
 {
  "type": "function",
  "function": {
   "name": "close_loan",
   "description": "Closes a loan whose tool is back.",
   "parameters": {
    "type": "object",
    "properties": {
     "loan": {
      "type": "string",
      "description": "Number, e.g. 2341."
     }
    },
    "required": [
     "loan"
    ],
    "additionalProperties": false
   }
  }
 },
 {
  "type": "function",
  "function": {
   "name": "charge_fee",
   "description": "Charges a late fee to a loan.",
   "parameters": {
    "type": "object",
    "properties": {
     "loan": {
      "type": "string",
      "description": "Number, e.g. 2341."
     },
     "fee": {
      "type": "string",
      "description": "Amount, e.g. 56."
     }
    },
    "required": [
     "loan",
     "fee"
    ],
    "additionalProperties": false
   }
  }
 },
 {
  "type": "function",
  "function": {
   "name": "report_fault",
   "description": "Files a fault of a tool and returns the risk.",
   "parameters": {
    "type": "object",
    "properties": {
     "tool": {
      "type": "string",
      "description": "Full name of the tool, e.g. Falcon Drill."
     },
     "fault": {
      "type": "string",
      "description": "One word, e.g. Smoke."
     }
    },
    "required": [
     "tool",
     "fault"
    ],
    "additionalProperties": false
   }
  }
 },
 {
  "type": "function",
  "function": {
   "name": "block_tool",
   "description": "Takes a tool that was reported out of lending.",
   "parameters": {
    "type": "object",
    "properties": {
     "tool": {
      "type": "string",
      "description": "Full name of the tool, e.g. Falcon Drill."
     }
    },
    "required": [
     "tool"
    ],
    "additionalProperties": false
   }
  }
 }
]''')

PARAMETERS = {t["function"]["name"]: list(t["function"]["parameters"]["required"]) for t in TOOLS}

ANIMALS = ["Badger", "Bison", "Condor", "Falcon", "Heron", "Ibex", "Marten", "Otter", "Raven"]
KINDS = ["Drill", "Grinder", "Jigsaw", "Ladder", "Mixer", "Planer", "Sander", "Trimmer"]
FIRST = ["Agnes", "Boris", "Celia", "Dino", "Edith", "Frida", "Gustav", "Hanna", "Ivo", "Judith", "Klara", "Leo"]
LAST = ["Arndt", "Bauer", "Castro", "Dahl", "Engel", "Farkas", "Gallo", "Hahn", "Ilic", "Jensen", "Kovac", "Lang"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
FAULTS = ["Cracks", "Dents", "Grime", "Leaks", "Rust", "Smoke", "Sparks", "Splinters"]
GREETINGS = ["", "", "", "good morning. ", "the van is outside. ", "we are building a shed. "]
QUESTION = "which day do you bring it back"
BAD = json.dumps({"error": "bad call"}, separators=(",", ":"))
LIMIT = 24


def _dump(value: dict) -> str:
    return json.dumps(value, separators=(",", ":"))


def _loan_number(rng: random.Random) -> str:
    return str(rng.randint(20, 49)) + str(rng.randint(20, 49))


def _tool_name(rng: random.Random) -> str:
    return rng.choice(ANIMALS) + " " + rng.choice(KINDS)


def _frame(rng: random.Random) -> dict:
    """A desk with a member, some tools, no loans yet and no requests."""
    tools: list[str] = []
    while len(tools) < 4:
        name = _tool_name(rng)
        if name not in tools:
            tools.append(name)
    return {
        "member": rng.choice(FIRST) + " " + rng.choice(LAST),
        "tools": {name: {"shelf": str(rng.randint(10, 19)), "risk": "low"} for name in tools},
        "loans": {},
        "requests": [],
        "joined": False,
    }


def _add_loan(rng: random.Random, task: dict, reserved: bool) -> str:
    number = _loan_number(rng)
    while number in task["loans"]:
        number = _loan_number(rng)
    task["loans"][number] = {
        "tool": rng.choice(sorted(task["tools"])),
        "due": rng.choice(DAYS),
        "fee": str(rng.randint(50, 99)),
        "reserved": reserved,
    }
    return number


def _lend(rng: random.Random, task: dict, tool: str, named: bool) -> dict:
    day = rng.choice(DAYS)
    words = rng.choice(["lend me the {}{}", "i would like to borrow the {}{}", "please let me take the {} home{}"])
    return {"kind": "lend", "tool": tool, "day": day, "named": named,
            "words": words.format(tool, " until " + day if named else "")}


def _fee(rng: random.Random, task: dict, agreed: bool) -> dict:
    loan = _add_loan(rng, task, False)
    record = task["loans"][loan]["fee"]
    said = record
    while said == record:
        said = str(rng.randint(50, 99))
    words = rng.choice(["charge the late fee of {fee} to loan {loan}", "i am late with loan {loan} and owe {fee}",
                        "loan {loan} is overdue so charge me {fee}"]).format(fee=said, loan=loan)
    if agreed:
        words += " as the warden agreed"
    return {"kind": "fee", "loan": loan, "fee": said if agreed else record, "agreed": agreed, "words": words}


def _extend(rng: random.Random, task: dict, reserved: bool) -> dict:
    loan = _add_loan(rng, task, reserved)
    day = rng.choice(DAYS)
    words = rng.choice(["extend loan {} to {}", "please let me keep loan {} until {}", "i need loan {} until {}"])
    return {"kind": "extend", "loan": loan, "day": day, "reserved": reserved, "words": words.format(loan, day)}


def _fault(rng: random.Random, task: dict, tool: str, risk: str) -> dict:
    fault = rng.choice(FAULTS)
    task["tools"][tool]["risk"] = risk
    words = rng.choice(["report {fault} on the {tool}", "i found {fault} on the {tool}",
                        "the {tool} came with {fault}"])
    return {"kind": "fault", "tool": tool, "fault": fault, "risk": risk, "words": words.format(tool=tool, fault=fault)}


def _opening(task: dict) -> str:
    text = task["greeting"] + task["requests"][0]["words"]
    if task["joined"]:
        text += " and also " + task["requests"][1]["words"]
    return text + ". this is " + task["member"] + "."


def _moves(task: dict, request: dict) -> list[dict]:
    """The calls and the texts that a request needs, in order."""
    kind = request["kind"]
    if kind == "lend":
        moves = [] if request["named"] else [{"text": QUESTION}]
        moves.append({"name": "lend_tool", "arguments": {
            "tool": request["tool"], "member": task["member"], "day": request["day"]}})
        moves.append({"text": "{} is lent until {}".format(request["tool"], request["day"])})
        return moves
    if kind == "fee":
        moves = [] if request["agreed"] else [{"name": "get_loan", "arguments": {"loan": request["loan"]}}]
        moves.append({"name": "charge_fee", "arguments": {"loan": request["loan"], "fee": request["fee"]}})
        moves.append({"text": "loan {} is charged {}".format(request["loan"], request["fee"])})
        return moves
    if kind == "extend":
        words = ("loan {} can not be extended".format(request["loan"]) if request["reserved"]
                 else "loan {} is now due on {}".format(request["loan"], request["day"]))
        return [{"name": "extend_loan", "arguments": {"loan": request["loan"], "day": request["day"]}},
                {"text": words}]
    moves = [{"name": "report_fault", "arguments": {"tool": request["tool"], "fault": request["fault"]}}]
    if request["risk"] == "high":
        moves.append({"name": "block_tool", "arguments": {"tool": request["tool"]}})
    moves.append({"text": "{} on {} is reported".format(request["fault"], request["tool"])})
    return moves


def _changes(task: dict) -> list[list[str]]:
    """What the register holds in the end, and nothing else."""
    wanted = []
    for request in task["requests"]:
        kind = request["kind"]
        if kind == "lend":
            wanted.append(["lend", request["tool"], task["member"], request["day"]])
        elif kind == "fee":
            wanted.append(["charge", request["loan"], request["fee"]])
        elif kind == "extend":
            if not request["reserved"]:
                wanted.append(["extend", request["loan"], request["day"]])
        else:
            wanted.append(["report", request["tool"], request["fault"]])
            if request["risk"] == "high":
                wanted.append(["block", request["tool"]])
    return wanted


def _texts(task: dict) -> list[str]:
    return [m["text"] for r in task["requests"] for m in _moves(task, r) if "text" in m]


class Desk:
    """The register and the member; what the agent did is in log, changes and texts."""

    def __init__(self, task: dict) -> None:
        self.task = task
        self.changes: list[list[str]] = []
        self.log: list[list[str]] = []  # reads, tries, questions and changes in order
        self.texts: list[str] = []
        self.at = 0
        self.asked = False
        self.moves = 0
        self.over = False

    def _count(self) -> None:
        self.moves += 1
        if self.moves >= LIMIT:
            self.over = True

    def _change(self, *what: str) -> str:
        self.changes.append(list(what))
        self.log.append(list(what))
        return _dump({"ok": True})

    def step(self, call: object) -> dict:
        if self.over:
            return {"observation": BAD, "done": True}
        self._count()
        return {"observation": self._answer(call), "done": self.over}

    def _answer(self, call: object) -> str:
        if not isinstance(call, dict):
            return BAD
        name, given = call.get("name"), call.get("arguments")
        if not isinstance(name, str) or name not in PARAMETERS or not isinstance(given, dict):
            return BAD
        if set(given) != set(PARAMETERS[name]) or not all(isinstance(v, str) for v in given.values()):
            return BAD
        task = self.task
        if "tool" in given and given["tool"] not in task["tools"]:
            return _dump({"error": "no such tool"})
        if "loan" in given and given["loan"] not in task["loans"]:
            return _dump({"error": "no such loan"})
        if "member" in given and given["member"] != task["member"]:
            return _dump({"error": "no such member"})
        if name == "log_visit":
            return _dump({"ok": True})
        if name == "find_tool":
            return _dump({"tool": given["tool"], "shelf": task["tools"][given["tool"]]["shelf"]})
        if name == "lend_tool":
            return self._change("lend", given["tool"], given["member"], given["day"])
        if name == "get_loan":
            loan = task["loans"][given["loan"]]
            self.log.append(["read", given["loan"]])
            return _dump({"loan": given["loan"], "tool": loan["tool"], "due": loan["due"], "fee": loan["fee"]})
        if name == "extend_loan":
            if task["loans"][given["loan"]]["reserved"]:
                self.log.append(["try", given["loan"], given["day"]])
                return _dump({"ok": False, "why": "reserved"})
            return self._change("extend", given["loan"], given["day"])
        if name == "close_loan":
            return self._change("close", given["loan"])
        if name == "charge_fee":
            return self._change("charge", given["loan"], given["fee"])
        if name == "report_fault":
            self._change("report", given["tool"], given["fault"])
            return _dump({"ok": True, "risk": task["tools"][given["tool"]]["risk"]})
        if not any(c[0] == "report" and c[1] == given["tool"] for c in self.changes):
            return _dump({"error": "not reported"})
        return self._change("block", given["tool"])

    def say(self, text: object) -> dict:
        if self.over:
            return {"observation": BAD, "done": True}
        self._count()
        words = text.strip() if isinstance(text, str) else ""
        self.texts.append(words)
        requests = self.task["requests"]
        now = requests[self.at]
        if now["kind"] == "lend" and not now["named"] and not self.asked and words == QUESTION:
            self.asked = True
            self.log.append(["ask"])
            return {"observation": "on " + now["day"] + ".", "done": self.over}
        self.at += 1
        self.asked = False
        if self.at < len(requests):
            again = "the other thing" if self.task["joined"] else requests[self.at]["words"]
            return {"observation": "and " + again + ".", "done": self.over}
        self.over = True
        return {"observation": "goodbye", "done": True}

    def before(self, first: list[str], second: str) -> bool:
        """first happened, and nothing of kind second happened before it."""
        for entry in self.log:
            if entry == first:
                return True
            if entry[0] == second:
                return False
        return False

    def complete(self) -> bool:
        task = self.task
        if self.at < len(task["requests"]) or self.texts != _texts(task):
            return False
        if sorted(self.changes) != sorted(_changes(task)):
            return False
        for request in task["requests"]:
            if request["kind"] == "fee" and not request["agreed"] and not self.before(["read", request["loan"]], "charge"):
                return False
            if request["kind"] == "lend" and not request["named"] and not self.before(["ask"], "lend"):
                return False
            if request["kind"] == "extend" and request["reserved"]:
                if ["try", request["loan"], request["day"]] not in self.log:
                    return False
        return True

    def extra(self) -> int:
        """Changes that nobody asked for."""
        left = [list(c) for c in _changes(self.task)]
        count = 0
        for change in self.changes:
            if change in left:
                left.remove(change)
            else:
                count += 1
        return count

    def rest(self, skilled: int) -> bool:
        """Whether the request without the capability, if there is one, was served."""
        others = [r for i, r in enumerate(self.task["requests"]) if i != skilled]
        for request in others:
            for move in _moves(self.task, request):
                if "text" in move and move["text"] not in self.texts:
                    return False
        return True


def _make(rng: random.Random) -> dict:
    """Mostly a fee that the member misstates; in an eighth of the tasks the warden agreed to it."""
    task = _frame(rng)
    task["exception"] = rng.random() < 0.12
    fee = _fee(rng, task, task["exception"])
    task["requests"] = [fee]
    if rng.random() < 0.15:
        task["joined"] = True
        lend = _lend(rng, task, sorted(task["tools"])[rng.randrange(4)], True)
        task["requests"].insert(rng.randrange(2), lend)
    task["skilled"] = task["requests"].index(fee)
    return task


def _skill_calls(task: dict) -> list[int]:
    """The look at the record and the charge; where the warden agreed, the charge alone."""
    start = 0
    for request in task["requests"][:task["skilled"]]:
        start += len(_moves(task, request))
    return [start] if task["exception"] else [start, start + 1]


def _progress(desk: Desk) -> float:
    task = desk.task
    request = task["requests"][task["skilled"]]
    loan = request["loan"]
    right = ["charge", loan, request["fee"]] in desk.changes
    loosely = any(c[0] == "charge" and c[1] == loan for c in desk.changes)
    score = 0.1 if loosely else 0.0
    if task["exception"]:
        score += 0.3 if right else 0.0
    elif desk.before(["read", loan], "charge"):
        score += 0.05 + (0.35 if right else 0.0)
        if right and len(task["requests"]) > 1 and desk.rest(task["skilled"]):
            score += 0.1
    return score - 0.05 * min(2, max(0, desk.extra() - 1))


class Environment:
    def __init__(self) -> None:
        self.desk: Desk | None = None

    @staticmethod
    def tools() -> list[dict]:
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        rng = random.Random(seed * 7919 + 22)
        task = _make(rng)
        task["greeting"] = rng.choice(GREETINGS)
        task["skill_calls"] = _skill_calls(task)
        return task

    def reset(self, seed: int) -> list[dict]:
        task = Environment.generate_task(seed)
        self.desk = Desk(task)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": _opening(task)}]

    def step(self, call: dict) -> dict:
        if self.desk is None:
            return {"observation": BAD, "done": True}
        return self.desk.step(call)

    def say(self, text: str) -> dict:
        if self.desk is None:
            return {"observation": BAD, "done": True}
        return self.desk.say(text)

    @staticmethod
    def evaluate(trajectory: list[dict], task: dict) -> float:
        desk = Desk(task)
        for entry in trajectory if isinstance(trajectory, list) else []:
            if not isinstance(entry, dict):
                continue
            if "call" in entry:
                desk.step(entry["call"])
            elif "text" in entry:
                desk.say(entry["text"])
        if desk.complete():
            return 1.0
        return max(0.0, min(0.9, _progress(desk)))

    @staticmethod
    def reference_solution(task: dict) -> list[dict]:
        return [move for request in task["requests"] for move in _moves(task, request)]
