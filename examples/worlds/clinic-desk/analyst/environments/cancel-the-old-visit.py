"""Moved visits at a clinic's desk, to practise one thing: cancel the old visit when a new one is booked in its place.

Tools, answers of the tools and the patient's words are those of the desk; a third of the patients want something easy
as well, some of them only in their next turn, so that the habit is practised inside of a longer conversation, too.
"""

import json
import random

SYSTEM = """You work at the appointment desk of a clinic. Use the tools, then answer the patient in a sentence.
A visit that is moved is booked at its new slot and cancelled at its old one. Change nothing else."""

FIRST_NAMES = "Rosa Otto Nora Max Lena Karl June Ivo Hana Gus Fay Emil Dora Carl Bo Ada".split()
SURNAMES = "Price Orton Nash Moor Lopez Klein Jansen Ivers Holm Grant Fox Engel Duval Conti Berg Adler".split()
FIELDS = "Bone Ear Eye Heart Lung Nerve Skin Throat".split()
DRUGS = "Alvor Brenol Cortan Dexil Elvan Fendol Gavor Helix Inovan Jorvil Kalven Lumol".split()
RECEIVERS = "Employer Hospital Insurer Laboratory Lawyer Pharmacy School Sister".split()
DOCTORS = "Boyd Cruz Dahl Evans Flynn Gomez Hart Ito".split()
TESTS = "Allergen Blood Hearing Scan Sleep Stress Vision Xray".split()
WISHES = [
    "move visit {visit} to {slot}",
    "i cannot come to visit {visit} but can at {slot}",
    "change my visit {visit} to {slot}",
]
SIDE_WISHES = {
    "book": ["book a visit at {slot}", "i want to come at {slot}", "is {slot} free then book it"],
    "visit": ["who sees me at visit {visit}", "which doctor has visit {visit}", "visit {visit} is with whom"],
    "price": ["what does the {test} test cost", "how much is the {test} test", "price of the {test} test please"],
}
OPENERS = ["", "", "good morning. ", "i am in a hurry. ", "it hurts a bit. "]
SIDE_SHARE = 0.3
MAX_STEPS = 10

NAME, FIELD, SLOT, VISIT = "First and last name of the patient.", "Field of medicine.", "A free slot.", "A visit."
SIGNATURES = {
    "check_insurance": ("Asks the insurer whether a field is covered.", {"name": NAME, "field": FIELD}),
    "get_allergies": ("Reads how a patient reacts to a drug.", {"name": NAME, "drug": "Name of the drug."}),
    "get_visit": ("Reads a visit: its doctor.", {"visit": VISIT}),
    "get_price": ("Reads the price of a test.", {"test": "Name of the test."}),
    "book_specialist": ("Books a specialist at a free slot.", {"field": FIELD, "slot": SLOT}),
    "book_visit": ("Books a visit at a free slot.", {"slot": SLOT}),
    "cancel_visit": ("Cancels a visit.", {"visit": VISIT}),
    "renew_drug": ("Renews a prescription.", {"name": NAME, "drug": "Name of the drug."}),
    "log_consent": ("Notes that the patient consents.", {"name": NAME, "receiver": "Who gets the record."}),
    "send_record": ("Sends the patient's record.", {"name": NAME, "receiver": "Who gets the record."}),
}
# Notes and looks that the desk reports: twice does no harm, but one that nobody needs does.
REPORTED = ("check_insurance", "get_allergies", "log_consent")
CHANGES = ("book_specialist", "book_visit", "cancel_visit", "renew_drug", "send_record")


def _line(value):
    return json.dumps(value, separators=(",", ":"))


def _call(tool, **arguments):
    return {"name": tool, "arguments": arguments}


def _fits(name, given):
    """True when a call names a tool and gives each of its arguments as a text."""
    if not isinstance(name, str) or name not in SIGNATURES or not isinstance(given, dict):
        return False
    return set(given) == set(SIGNATURES[name][1]) and all(isinstance(value, str) for value in given.values())


class _Desk:
    """The clinic during one episode: `done` holds the calls that succeeded, `said` the answers to the patient."""

    def __init__(self, task):
        self.task = task
        self.slots = list(task["slots"])
        self.visits = dict(task["visits"])
        self.done = []
        self.said = []
        self.steps = 0
        self.over = False

    def _count(self):
        self.steps += 1
        self.over = self.over or self.steps >= MAX_STEPS

    def handle(self, call):
        name, given = call.get("name"), call.get("arguments")
        observation = self._answer(name, given) if _fits(name, given) else _line({"error": "bad call"})
        self._count()
        return {"observation": observation, "done": self.over}

    def hear(self, text):
        self.said.append(text.removesuffix(" take care"))
        wishes = self.task["wishes"]
        observation = "bye"
        if len(self.said) < len(wishes):
            observation = (
                f"one more thing. {wishes[1]['text']}." if self.task["later"] else "good. and the other thing."
            )
        else:
            self.over = True
        self._count()
        return {"observation": observation, "done": self.over}

    def _answer(self, name, given):
        task = self.task
        known = {"name": [task["name"]], "field": FIELDS, "drug": DRUGS, "receiver": [*RECEIVERS, "me"], "test": TESTS}
        known.update(slot=self.slots, visit=list(self.visits))
        for key, value in given.items():
            if value not in known[key]:
                return _line({"error": f"no such {key}"})
        self.done.append(_call(name, **given))
        if name == "check_insurance":
            return _line({"field": given["field"], "covered": given["field"] in task["covered"]})
        if name == "get_allergies":
            return _line({"drug": given["drug"], "reaction": task["reactions"].get(given["drug"], "none")})
        if name == "get_visit":
            return _line({"visit": given["visit"], "doctor": self.visits[given["visit"]]})
        if name == "get_price":
            return _line({"test": given["test"], "price": task["prices"][given["test"]]})
        if "slot" in given:
            self.slots.remove(given["slot"])
        if name == "cancel_visit":
            self.visits.pop(given["visit"])
        return _line({"ok": True})


def _wish(rng, task):
    """A visit to be moved."""
    visit, slot = next(iter(task["visits"])), task["slots"][0]
    cancel = _call("cancel_visit", visit=visit)
    return {
        "text": rng.choice(WISHES).format(visit=visit, slot=slot),
        "habit": cancel,
        "calls": [_call("book_visit", slot=slot), cancel],
        "answer": f"moved to {slot}",
    }


def _side_wish(rng, task):
    """An easy request beside the one that matters."""
    kind, slot, visit, test = (
        rng.choice(sorted(SIDE_WISHES)),
        task["slots"][1],
        list(task["visits"])[1],
        rng.choice(TESTS),
    )
    text = rng.choice(SIDE_WISHES[kind]).format(slot=slot, visit=visit, test=test)
    if kind == "book":
        return {"text": text, "calls": [_call("book_visit", slot=slot)], "answer": f"booked at {slot}"}
    if kind == "visit":
        doctor = task["visits"][visit]
        return {"text": text, "calls": [_call("get_visit", visit=visit)], "answer": f"{visit} is with {doctor}"}
    price = task["prices"][test]
    return {"text": text, "calls": [_call("get_price", test=test)], "answer": f"{test} costs {price}"}


class Environment:
    """One conversation."""

    def __init__(self):
        self._desk = None

    @staticmethod
    def tools():
        """The agent's tools."""
        described = []
        for name, (description, parameters) in SIGNATURES.items():
            schema = {
                "type": "object",
                "properties": {key: {"type": "string", "description": text} for key, text in parameters.items()},
                "required": list(parameters),
                "additionalProperties": False,
            }
            function = {"name": name, "description": description, "parameters": schema}
            described.append({"type": "function", "function": function})
        return described

    @staticmethod
    def generate_task(seed):
        """The hidden task of a seed."""
        rng = random.Random(f"cancel-the-old-visit/{seed}")
        heads, tails = rng.sample(range(30, 50), 3), rng.sample(range(50, 100), 3)
        task = {
            "name": f"{rng.choice(FIRST_NAMES)} {rng.choice(SURNAMES)}",
            "slots": [f"{head}{tail}" for head, tail in zip(heads, tails, strict=True)],
            "visits": {number: rng.choice(DOCTORS) for number in map(str, rng.sample(range(10, 30), 3))},
            "covered": [field for field in FIELDS if rng.random() < 0.55],
            "reactions": {drug: rng.choice(["rash", "shock"]) for drug in DRUGS if rng.random() < 0.45},
            "prices": {test: rng.randint(50, 99) for test in TESTS},
        }
        wishes = [_wish(rng, task)]
        if rng.random() < SIDE_SHARE:
            wishes.insert(rng.randint(0, 1), _side_wish(rng, task))
        task["wishes"] = wishes
        task["later"] = len(wishes) > 1 and rng.random() < 0.5
        asked = wishes[0]["text"] if task["later"] else " and then ".join(wish["text"] for wish in wishes)
        task["opening"] = f"{rng.choice(OPENERS)}{asked}. i am {task['name']}."
        calls = Environment.reference_solution(task)
        wanted = next(wish for wish in wishes if "habit" in wish)["habit"]
        return {**task, "skill_calls": [calls.index(wanted)]}

    def reset(self, seed):
        """Opens the episode of a seed."""
        task = self.generate_task(seed)
        self._desk = _Desk(task)
        return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task["opening"]}]

    def _open(self):
        if self._desk is None:
            raise RuntimeError("no episode yet; call reset(seed) first")
        return self._desk

    def step(self, call):
        """Runs one tool call."""
        desk = self._open()
        return {"observation": _line({"error": "it is over"}), "done": True} if desk.over else desk.handle(call)

    def say(self, text):
        """Takes an answer to the patient and gives the patient's next words."""
        desk = self._open()
        return {"observation": "bye", "done": True} if desk.over else desk.hear(text)

    @staticmethod
    def evaluate(trajectory, task):
        """1 for a request that was handled rightly in every way, less for parts of it, 0 for none.

        A new visit beside the old one earns 0.15. With the habit, but with something else wrong, it is
        0.4, and 0.6 where only an answer to the patient is wrong.
        """
        desk = _Desk(task)
        for entry in trajectory:
            if desk.over:
                break
            if "call" in entry:
                desk.handle(entry["call"])
            else:
                desk.hear(entry["text"])
        wish = next(wish for wish in task["wishes"] if "habit" in wish)
        shown = wish["habit"] in desk.done
        booked = _call("book_visit", slot=task["slots"][0]) in desk.done
        if not shown:
            return 0.15 if booked else 0.0
        expected = [call for wish in task["wishes"] for call in wish["calls"]]
        changed, wanted = ([call for call in calls if call["name"] in CHANGES] for calls in (desk.done, expected))
        if sorted(map(_line, changed)) != sorted(map(_line, wanted)):
            return 0.4
        reported, needed = (
            {_line(call) for call in calls if call["name"] in REPORTED} for calls in (desk.done, expected)
        )
        if reported != needed:
            return 0.4
        # A reference solution says nothing; whoever answers has to answer rightly.
        return 1.0 if not desk.said or desk.said == [wish["answer"] for wish in task["wishes"]] else 0.6

    @staticmethod
    def reference_solution(task):
        """Calls that earn reward 1."""
        return [call for wish in task["wishes"] for call in wish["calls"]]
