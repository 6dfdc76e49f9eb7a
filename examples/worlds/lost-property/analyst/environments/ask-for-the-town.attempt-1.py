"""Things that are sent home, to practise one thing: ask the owner whether the town on file is still right.

Half of the owners name another town, so where the thing goes depends on what the owner says. One owner in five has said
already that the town is the same; there the question does harm. Tools, words and observations are the agent's own; only
owners, tags and towns are drawn anew. So the habit of asking carries over.
"""

import json
import random

SYSTEM = """You are the assistant at the lost property office of an airport. Act with the tools, and answer the owner in
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

FIRSTS = "Abel Bea Cleo Dina Egon Faye Gino Hugo Ilse Joel Kira Liam Nina Oren Petra".split()
LASTS = "Abbott Barker Cooper Dixon Ellis Foster Gibson Harper Irving Jordan Lawson Norris Oakley Palmer".split()
ITEMS = "Camera Umbrella Guitar Keys Laptop Phone Hat Ring Coat Bag Scarf Wallet".split()
HALLS = "Cafe Lift Bus Taxi Chapel Lounge Customs".split()
TOWNS = "Tokyo Quito Oslo Cairo Delhi Porto Vienna Rome Lima Malmo Kiev Basel".split()
OPENERS = ["", "", "my flight is soon. ", "i came from far. ", "good morning. "]
WISH = " have a good flight"
EXCEPTION_SHARE = 0.2
MAX_TURNS = 10

SIGNATURES = {
    "find_item": ("Looks for a lost thing in the store: its tag, or none.", ["item", "hall"]),
    "file_report": ("Reports a thing as lost.", ["name", "item", "hall"]),
    "get_item": ("Reads a tag: kind of thing, report, and the owner's town on file.", ["tag"]),
    "hand_over": ("Hands a thing over to its owner.", ["tag", "name"]),
    "send_item": ("Sends a thing to a town.", ["tag", "town"]),
    "get_report": ("Reads the state of a report.", ["report"]),
    "close_report": ("Closes a report.", ["report"]),
    "get_fee": ("Reads the fee for a parcel to a town.", ["town"]),
}
PARAMETERS = {
    "item": "Kind of thing, e.g. Coat.",
    "hall": "Where it was lost, e.g. Gate.",
    "name": "First and last name of the owner.",
    "tag": "Number of a thing, e.g. 4152.",
    "town": "Name of a town, e.g. Oslo.",
    "report": "Number of a report, e.g. 12.",
}
LOOKS = ("find_item", "get_item", "get_report", "get_fee")


def _line(value):
    return json.dumps(value, separators=(",", ":"))


class _Office:
    """The office during one episode: what was called and said, in order."""

    def __init__(self, task):
        self.task = task
        self.log = []
        self.answers = []
        self.gone = set()
        self.closed = set()
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
        tags, reports = self.task["things"], self.task["reports"]
        if "tag" in given and (given["tag"] not in tags or given["tag"] in self.gone):
            return _line({"error": "no such tag"})
        if given.get("name", self.task["name"]) != self.task["name"]:
            return _line({"error": "bad call"})
        if "report" in given and (given["report"] not in reports or given["report"] in self.closed):
            return _line({"error": "no such report"})
        self.log.append([name, *(given[key] for key in keys)])
        if name == "find_item":
            found = self.task["stored"] if [given["item"], given["hall"]] == self.task["lost"] else "none"
            return _line({"item": given["item"], "hall": given["hall"], "tag": found})
        if name == "get_item":
            return _line({"tag": given["tag"], **tags[given["tag"]]})
        if name == "get_report":
            return _line({"report": given["report"], "state": reports[given["report"]]})
        if name == "get_fee":
            return _line({"town": given["town"], "fee": self.task["fees"].get(given["town"], 90)})
        if name in ("hand_over", "send_item"):
            self.gone.add(given["tag"])
        if name == "close_report":
            self.closed.add(given["report"])
        return _line({"ok": True})

    def hear(self, text):
        self._tick()
        task = self.task
        if text == f"is {task['things'][task['tag']]['town']} still right" and not self.sent():
            self.log.append(["ask", task["tag"]])
            return f"yes it is {task['home']}" if task["stays"] else f"no it is {task['home']} now"
        self.answers.append(text.removesuffix(WISH))
        self.over = True
        return ""

    def sent(self):
        return any(entry[0] == "send_item" for entry in self.log)

    def changes(self):
        """Everything but look-ups."""
        return [entry for entry in self.log if entry[0] not in LOOKS]

    def _tick(self):
        self.turns += 1
        self.over = self.over or self.turns >= MAX_TURNS


def _replay(trajectory, task):
    office = _Office(task)
    for turn in trajectory:
        if office.over:
            break
        if "text" in turn:
            office.hear(turn["text"])
        else:
            office.act(turn["call"])
    return office


def _world(rng):
    """Things with tags, and reports, of which the task names some."""
    numbers = [f"{first}{rng.randint(50, 79)}" for first in rng.sample(range(30, 49), 3)]
    reports = [str(number) for number in rng.sample(range(10, 30), 4)]
    tags = {
        tag: {"item": rng.choice(ITEMS), "report": report, "town": rng.choice(TOWNS)}
        for tag, report in zip(numbers, reports, strict=False)
    }
    return {
        "things": tags,
        "reports": {report: rng.choice(["open", "waiting"]) for report in reports},
        "fees": {town: rng.randint(80, 99) for town in TOWNS},
        "lost": [rng.choice(ITEMS), rng.choice(HALLS)],
        "stored": "none",
        "name": f"{rng.choice(FIRSTS)} {rng.choice(LASTS)}",
    }


def _call(name, *values):
    return {"name": name, "arguments": dict(zip(SIGNATURES[name][1], values, strict=True))}


WORDINGS = ["i want tag {tag} sent home", "send tag {tag} home", "please get tag {tag} to my town"]
SAME = ["send tag {tag} home as my town is the same", "my town is the same so i want tag {tag} sent home"]


def _request(rng, task):
    task["tag"] = rng.choice(sorted(task["things"]))
    filed = task["things"][task["tag"]]["town"]
    task["stays"] = task["exception"] or rng.random() < 0.5
    task["home"] = filed if task["stays"] else rng.choice([town for town in TOWNS if town != filed])
    return rng.choice(SAME if task["exception"] else WORDINGS).format(tag=task["tag"])


def _shows(move):
    return move.get("text", "").startswith("is ")


def _solution(task):
    tag, home = task["tag"], task["home"]
    question = [] if task["exception"] else [{"text": f"is {task['things'][tag]['town']} still right"}]
    answer = {"text": f"tag {tag} goes to {home}"}
    return [_call("get_item", tag), *question, _call("send_item", tag, home), answer]


def _reward(office, task):
    tag, home = task["tag"], task["home"]
    log = office.log
    asked = ["ask", tag] in log
    made = [entry for entry in office.changes() if entry[0] != "ask"]
    send = ["send_item", tag, home]
    read = ["get_item", tag] in log and send in log and log.index(["get_item", tag]) < log.index(send)
    complete = read and made == [send] and office.answers == [f"tag {tag} goes to {home}"]
    if task["exception"]:
        if send not in made:
            return 0.0
        return 0.25 if asked else 1.0 if complete else 0.6
    if not asked:
        return 0.15 if [entry[:2] for entry in made] == [["send_item", tag]] else 0.0
    if made != [send]:
        return 0.4
    return 1.0 if complete else 0.65


class Environment:
    """One episode."""

    def __init__(self):
        self._office = None

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
        rng = random.Random(f"ask-for-the-town/{seed}")
        task = _world(rng)
        task["exception"] = rng.random() < EXCEPTION_SHARE
        request = _request(rng, task)
        task["opening"] = f"{rng.choice(OPENERS)}{request}. i am {task['name']}."
        moves = Environment.reference_solution(task)
        task["skill_calls"] = [] if task["exception"] else [place for place, move in enumerate(moves) if _shows(move)]
        return task

    def reset(self, seed):
        task = self.generate_task(seed)
        self._office = _Office(task)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["opening"]}]

    def step(self, call):
        office = self._begun()
        if office.over:
            return {"observation": _line({"error": "bad call"}), "done": True}
        return {"observation": office.act(call), "done": office.over}

    def say(self, text):
        office = self._begun()
        if office.over:
            return {"observation": "", "done": True}
        return {"observation": office.hear(text), "done": office.over}

    def _begun(self):
        if self._office is None:
            raise RuntimeError("the episode has not begun; call reset(seed) first")
        return self._office

    @staticmethod
    def evaluate(trajectory, task):
        """1 for a question and what follows from it; 0.4 or 0.65 for one with faults after it; 0.15 unasked."""
        office = _replay(trajectory, task)
        return _reward(office, task)

    @staticmethod
    def reference_solution(task):
        return _solution(task)
