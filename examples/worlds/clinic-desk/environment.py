"""The appointment desk of a clinic: a written policy, a scripted patient, and often two requests in one conversation.

One instance serves one episode. Standard library only, one file, no clock: everything follows from the seed.
The desk's answers are plain texts (`say`), and the patient's second request may come as a later turn of the
user. Names and numbers of held-out tasks (seeds from HELD_OUT_FROM) are of another pool than those of train
tasks and demonstrations.

    0 .. 999_999            train tasks
    1_000_000 .. 1_999_999  held-out tasks
    2_000_000 ..            demonstrations from which the agent's model was made

`evaluate` replays the trajectory's calls on a fresh state, so it depends on the trajectory and the task alone.
"""

import json
import random

HELD_OUT_FROM = 1_000_000
DEMONSTRATIONS_FROM = 2_000_000
MAX_STEPS = 10

FIRST = "Ada Bo Carl Dora Emil Fay Gus Hana Ivo June Karl Lena Max Nora Otto Rosa".split()
LAST = "Adler Berg Conti Duval Engel Fox Grant Holm Ivers Jansen Klein Lopez Moor Nash Orton Price".split()
FIELDS = "Skin Heart Eye Bone Ear Lung Nerve Throat".split()
DRUGS = "Alvor Brenol Cortan Dexil Elvan Fendol Gavor Helix Inovan Jorvil Kalven Lumol".split()
RECEIVERS = "Laboratory Insurer School Employer Hospital Pharmacy Lawyer Sister".split()
DOCTORS = "Boyd Cruz Dahl Evans Flynn Gomez Hart Ito".split()
TESTS = "Xray Scan Blood Vision Hearing Allergen Sleep Stress".split()

# Kinds of task and their weights in percent. "first+second" asks for two things in one conversation. "-paid",
# "-reviewed", "-extra" and "-own" are exceptions: they look like the kind before the dash, but the habit that
# it needs does harm.
MIX = {
    "specialist": 9,
    "renewal": 9,
    "move": 9,
    "record": 9,
    "specialist-paid": 4,
    "renewal-reviewed": 4,
    "move-extra": 4,
    "record-own": 4,
    "book": 5,
    "cancel": 4,
    "visit": 5,
    "price": 4,
    "specialist+visit": 3,
    "specialist+price": 2,
    "renewal+cancel": 3,
    "renewal+book": 2,
    "move+price": 3,
    "move+visit": 2,
    "record+book": 3,
    "record+cancel": 2,
    "specialist+renewal": 2,
    "specialist+move": 2,
    "specialist+record": 1,
    "renewal+move": 1,
    "renewal+record": 2,
    "move+record": 2,
}
# Of the tasks with two requests, the share in which the patient tells the second one only after the first is answered.
LATER_SHARE = 0.5
WISH = " take care"
COVERED_SHARE = 0.6
REACTION_SHARE = 0.4
REACTIONS = ["rash", "shock"]
NEEDS = {
    "specialist": "insurance-before-specialist",
    "renewal": "allergies-before-renewal",
    "move": "cancel-the-old-visit",
    "record": "log-the-consent",
}

PHRASES = {
    "specialist": [
        "book the {field} doctor at {slot}",
        "i need the {field} doctor at {slot}",
        "get me to the {field} doctor at {slot}",
    ],
    "specialist-paid": [
        "book the {field} doctor at {slot} and i pay it myself",
        "i pay myself for the {field} doctor at {slot}",
        "get me to the {field} doctor at {slot} as i pay myself",
    ],
    "renewal": ["renew my {drug}", "i need more {drug}", "my {drug} runs out so renew it"],
    "renewal-reviewed": [
        "renew my {drug} as doctor {doctor} reviewed it",
        "i need more {drug} and doctor {doctor} reviewed it",
        "doctor {doctor} reviewed my {drug} so renew it",
    ],
    "move": [
        "move visit {visit} to {slot}",
        "i cannot come to visit {visit} but can at {slot}",
        "change my visit {visit} to {slot}",
    ],
    "move-extra": [
        "i keep visit {visit} and want another at {slot}",
        "beside visit {visit} i want another at {slot}",
        "i come to visit {visit} and need another at {slot}",
    ],
    "record": [
        "send my record to the {receiver}",
        "the {receiver} needs my record",
        "let the {receiver} have my record",
    ],
    "record-own": ["send my record to me", "i need my own record", "let me have my own record"],
    "book": ["book a visit at {slot}", "i want to come at {slot}", "is {slot} free then book it"],
    "cancel": ["cancel visit {visit}", "i do not need visit {visit} any more", "please drop visit {visit}"],
    "visit": ["who sees me at visit {visit}", "which doctor has visit {visit}", "visit {visit} is with whom"],
    "price": ["what does the {test} test cost", "how much is the {test} test", "price of the {test} test please"],
}
SMALL_TALK = ["", "", "good morning. ", "i am in a hurry. ", "it hurts a bit. "]

POLICY = """You are the assistant at the appointment desk of a clinic. Use the tools, then answer in a sentence.
Rules:
1. Before a specialist is booked, check_insurance says whether the field is covered. What is not covered is not
   booked. A patient who pays is not checked, because each check opens a claim.
2. Before a drug is renewed, get_allergies is read for it. A drug with another reaction than none is not
   renewed. What a doctor has reviewed is not looked up again, because each look into the allergies is reported.
3. A visit that is moved is booked at the new slot, and the old visit is cancelled. Another visit beside the old
   one leaves the old one as it is.
4. Before a record goes to somebody else, log_consent notes the consent. Patients who get their own record
   (receiver "me") give no consent.
5. Change nothing that the patient did not ask for. One answer per request. A good wish at the end is welcome
   but not required."""


def _tool(name: str, description: str, /, **properties: str) -> dict:
    parameters = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_NAME = "First and last name of the patient."
_FIELD = "Field of medicine, e.g. Skin."
_SLOT = "Number of a free slot, e.g. 4117."
_VISIT = "Number of a visit, e.g. 23."
_DRUG = "Name of the drug."
_RECEIVER = "Who gets the record: one word, or me."

TOOLS = [
    _tool("check_insurance", "Asks the insurer whether a field is covered.", name=_NAME, field=_FIELD),
    _tool("get_allergies", "Reads how a patient reacts to a drug.", name=_NAME, drug=_DRUG),
    _tool("get_visit", "Reads a visit: its doctor.", visit=_VISIT),
    _tool("get_price", "Reads the price of a test.", test="Name of the test, e.g. Xray."),
    _tool("book_specialist", "Books a specialist at a free slot.", field=_FIELD, slot=_SLOT),
    _tool("book_visit", "Books a visit at a free slot.", slot=_SLOT),
    _tool("cancel_visit", "Cancels a visit.", visit=_VISIT),
    _tool("renew_drug", "Renews a prescription.", name=_NAME, drug=_DRUG),
    _tool("log_consent", "Notes that the patient consents to sending the record.", name=_NAME, receiver=_RECEIVER),
    _tool("send_record", "Sends the patient's record.", name=_NAME, receiver=_RECEIVER),
]
_PARAMETERS = {tool["function"]["name"]: tool["function"]["parameters"]["required"] for tool in TOOLS}
_CHANGES = ("book_specialist", "book_visit", "cancel_visit", "renew_drug", "send_record")
_LOOKS = ("check_insurance", "get_allergies", "log_consent")


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _split(pairs: list[tuple], held_out: bool) -> list[tuple]:
    """A quarter of the pairs for held-out tasks, the others for training. Drawn at random: a rule would be learned."""
    shuffled = random.Random("clinic-desk").sample(pairs, len(pairs))
    quarter = len(pairs) // 4
    return shuffled[:quarter] if held_out else shuffled[quarter:]


# By whether the task is held out.
NAMES = {held_out: _split([(a, b) for a in FIRST for b in LAST], held_out) for held_out in (False, True)}
SLOTS = {
    held_out: _split([(a, b) for a in range(30, 50) for b in range(50, 100)], held_out) for held_out in (False, True)
}


def _free_slots(rng: random.Random, count: int, held_out: bool) -> list[str]:
    """Numbers of four digits, no two of which begin or end alike."""
    chosen: list[tuple] = []
    while len(chosen) < count:
        head, tail = rng.choice(SLOTS[held_out])
        if all(head != other[0] and tail != other[1] for other in chosen):
            chosen.append((head, tail))
    return [f"{head}{tail}" for head, tail in chosen]


def _request(rng: random.Random, part: str, visit: str, slot: str) -> dict:
    values = {
        "field": rng.choice(FIELDS),
        "drug": rng.choice(DRUGS),
        "receiver": rng.choice(RECEIVERS),
        "doctor": rng.choice(DOCTORS),
        "test": rng.choice(TESTS),
        "visit": visit,
        "slot": slot,
    }
    text = rng.choice(PHRASES[part]).format(**values)
    kind, _, exception = part.partition("-")
    if exception == "own":
        values["receiver"] = "me"
    return {"kind": kind, "exception": exception, "text": text, **values}


def _call(name: str, /, **arguments: str) -> dict:
    return {"name": name, "arguments": arguments}


def _refused(task: dict, request: dict) -> bool:
    """Whether the policy forbids what the request asks for: a field that is not covered, or a drug with an allergy."""
    if request["exception"]:
        return False
    if request["kind"] == "specialist":
        return request["field"] not in task["covered"]
    return request["kind"] == "renewal" and request["drug"] in task["reactions"]


def _right_calls(task: dict, request: dict) -> tuple[list[dict], list[dict], str]:
    """What the policy asks for: looks and notes that come first, changes, and the sentence of the answer."""
    name, kind, plain = task["name"], request["kind"], not request["exception"]
    field, drug, slot, visit, receiver = (request[key] for key in ("field", "drug", "slot", "visit", "receiver"))
    if kind == "specialist":
        first = [_call("check_insurance", name=name, field=field)] if plain else []
        if _refused(task, request):
            return first, [], f"{field} is not covered"
        return first, [_call("book_specialist", field=field, slot=slot)], f"{field} booked at {slot}"
    if kind == "renewal":
        first = [_call("get_allergies", name=name, drug=drug)] if plain else []
        if _refused(task, request):
            return first, [], f"{drug} does you harm"
        return first, [_call("renew_drug", name=name, drug=drug)], f"{drug} renewed"
    if kind == "move":
        old = [_call("cancel_visit", visit=visit)] if plain else []
        return [], [_call("book_visit", slot=slot), *old], f"{'moved to' if plain else 'booked at'} {slot}"
    if kind == "record":
        first = [_call("log_consent", name=name, receiver=receiver)] if plain else []
        return first, [_call("send_record", name=name, receiver=receiver)], f"record sent to {receiver}"
    if kind == "book":
        return [], [_call("book_visit", slot=slot)], f"booked at {slot}"
    if kind == "cancel":
        return [], [_call("cancel_visit", visit=visit)], f"{visit} cancelled"
    if kind == "visit":
        return [_call("get_visit", visit=visit)], [], f"{visit} is with {task['visits'][visit]}"
    test = request["test"]
    return [_call("get_price", test=test)], [], f"{test} costs {task['prices'][test]}"


def solve(task: dict, request: dict) -> list[dict]:
    """The right steps of one request: its calls, then {"text"}."""
    first, then, sentence = _right_calls(task, request)
    return [*first, *then, {"text": sentence}]


class _State:
    """What the calls of one episode have looked up and changed, and what the patient has heard."""

    def __init__(self, task: dict):
        self.task = task
        self.slots = list(task["slots"])
        self.visits = dict(task["visits"])
        self.looks: list[dict] = []
        # Each change with the number of looks that came before it.
        self.changes: list[tuple[dict, int]] = []
        self.said: list[str] = []
        self.steps = 0
        self.done = False

    def apply(self, call: dict) -> dict:
        observation = self._answer(call)
        return {"observation": observation, "done": self._ended()}

    def hear(self, text: str) -> dict:
        """The patient's turn after the desk's answer: the second request, or the end."""
        self.said.append(text)
        task = self.task
        if len(self.said) < len(task["requests"]):
            asked = f"one more thing. {task['requests'][1]['text']}." if task["later"] else "good. and the other thing."
            return {"observation": asked, "done": self._ended()}
        self.done = True
        return {"observation": "bye", "done": True}

    def _ended(self) -> bool:
        self.steps += 1
        self.done = self.done or self.steps >= MAX_STEPS
        return self.done

    def _answer(self, call: dict) -> str:
        name, arguments = call.get("name"), call.get("arguments")
        expected = _PARAMETERS.get(name) if isinstance(name, str) else None
        if expected is None or not isinstance(arguments, dict) or set(arguments) != set(expected):
            return '{"error":"bad call"}'
        if any(not isinstance(value, str) for value in arguments.values()):
            return '{"error":"bad call"}'
        fault = self._fault(arguments)
        if fault:
            return _compact({"error": fault})
        if name in _CHANGES:
            self.changes.append(({"name": name, "arguments": arguments}, len(self.looks)))
            if "slot" in arguments:
                self.slots.remove(arguments["slot"])
            if name == "cancel_visit":
                del self.visits[arguments["visit"]]
            return '{"ok":true}'
        if name in _LOOKS:
            self.looks.append({"name": name, "arguments": arguments})
        return getattr(self, f"_{name}")(**arguments)

    def _fault(self, arguments: dict) -> str | None:
        task = self.task
        known = {
            "name": [task["name"]],
            "field": FIELDS,
            "drug": DRUGS,
            "receiver": [*RECEIVERS, "me"],
            "test": TESTS,
            "slot": self.slots,
            "visit": self.visits,
        }
        return next((f"no such {key}" for key in arguments if key in known and arguments[key] not in known[key]), None)

    def _check_insurance(self, name: str, field: str) -> str:
        return _compact({"field": field, "covered": field in self.task["covered"]})

    def _get_allergies(self, name: str, drug: str) -> str:
        return _compact({"drug": drug, "reaction": self.task["reactions"].get(drug, "none")})

    def _log_consent(self, name: str, receiver: str) -> str:
        return '{"ok":true}'

    def _get_visit(self, visit: str) -> str:
        return _compact({"visit": visit, "doctor": self.visits[visit]})

    def _get_price(self, test: str) -> str:
        return _compact({"test": test, "price": self.task["prices"][test]})


def _success(state: _State) -> bool:
    """True when looks, changes and answers are what the requests and the policy ask for.

    Calls without any answer succeed as well: a reference solution has no place for texts.
    """
    task = state.task
    looks, changes, sentences = [], [], []
    for request in task["requests"]:
        first, then, sentence = _right_calls(task, request)
        looks += [look for look in first if look["name"] in _LOOKS]
        changes += then
        sentences.append(sentence)
        for change, known in state.changes:
            if change in then and any(look in looks and look not in state.looks[:known] for look in first):
                return False

    def in_order(calls: list[dict]) -> list[str]:
        return sorted(json.dumps(call, sort_keys=True) for call in calls)

    if in_order([change for change, _ in state.changes]) != in_order(changes):
        return False
    # A look twice does no harm; one that nobody asked for does.
    if {*in_order(state.looks)} != {*in_order(looks)}:
        return False
    return not state.said or [text.removesuffix(WISH) for text in state.said] == sentences


def _diagnostics(state: _State) -> dict:
    """ "lacking" or "present" for each capability that the episode called for and that its calls show."""
    task, found = state.task, {}
    for number, request in enumerate(task["requests"]):
        kind = request["kind"]
        if kind not in NEEDS or request["exception"] or number > len(state.said):
            continue
        first, then, _ = _right_calls(task, request)
        if kind == "move":
            if any(change == then[0] for change, _ in state.changes):
                found[NEEDS[kind]] = any(change == then[1] for change, _ in state.changes)
            continue
        tool = {"specialist": "book_specialist", "renewal": "renew_drug", "record": "send_record"}[kind]
        done = [known for change, known in state.changes if change["name"] == tool]
        looked = first[0] in state.looks
        if done or looked:
            early = any(first[0] not in state.looks[:known] for known in done)
            found[NEEDS[kind]] = looked and not early and not (done and _refused(task, request))
    if state.said:
        found["wish-well"] = state.said[0].endswith(WISH)
    return {name: "present" if ok else "lacking" for name, ok in found.items()}


class Environment:
    """One conversation at the appointment desk."""

    def __init__(self) -> None:
        self._state: _State | None = None

    @staticmethod
    def tools() -> list[dict]:
        """The desk's OpenAI function tools."""
        return json.loads(json.dumps(TOOLS))

    @staticmethod
    def generate_task(seed: int) -> dict:
        """The hidden task of a seed: patient, free slots, visits, requests, opening message and the needs as tags."""
        rng = random.Random(f"clinic-desk:{seed}")
        held_out = HELD_OUT_FROM <= seed < DEMONSTRATIONS_FROM
        kind = rng.choices(list(MIX), weights=list(MIX.values()))[0]
        name = " ".join(rng.choice(NAMES[held_out]))
        slots = _free_slots(rng, 3, held_out)
        numbers = [str(number) for number in rng.sample(range(10, 30), 3)]
        visits = {number: rng.choice(DOCTORS) for number in numbers}
        parts = kind.split("+")
        if len(parts) == 2 and rng.random() < 0.5:
            parts.reverse()
        requests = [_request(rng, part, visit, slot) for part, visit, slot in zip(parts, numbers, slots, strict=False)]
        reactions = {drug: rng.choice(REACTIONS) for drug in DRUGS if rng.random() < REACTION_SHARE}
        later = len(parts) == 2 and rng.random() < LATER_SHARE
        asked = requests[0]["text"] if later else " and then ".join(request["text"] for request in requests)
        return {
            "seed": seed,
            "kind": kind,
            "later": later,
            "name": name,
            "slots": slots,
            "visits": visits,
            "covered": [field for field in FIELDS if rng.random() < COVERED_SHARE],
            "reactions": reactions,
            "prices": {test: rng.randint(50, 99) for test in TESTS},
            "requests": requests,
            "message": f"{rng.choice(SMALL_TALK)}{asked}. i am {name}.",
            "tags": [NEEDS[part] for part in parts if part in NEEDS],
        }

    def reset(self, seed: int) -> list[dict]:
        """Starts the episode of a seed and returns the policy and the patient's first message."""
        task = self.generate_task(seed)
        self._state = _State(task)
        return [{"role": "system", "content": POLICY}, {"role": "user", "content": task["message"]}]

    def step(self, call: dict) -> dict:
        """Runs one tool call."""
        state = self._running()
        return state.apply(call) if not state.done else {"observation": '{"error":"it is over"}', "done": True}

    def say(self, text: str) -> dict:
        """Takes the desk's answer; the observation is what the patient says next."""
        state = self._running()
        return state.hear(text) if not state.done else {"observation": "bye", "done": True}

    def _running(self) -> _State:
        if self._state is None:
            raise RuntimeError("there is no episode yet; call reset(seed) first")
        return self._state

    @staticmethod
    def evaluate(trajectory: list[dict], task: dict) -> dict:
        """Reward 1 when the desk's final state and the answers are right under the policy, else 0; with diagnostics."""
        state = _State(task)
        for entry in trajectory:
            if state.done:
                break
            if "call" in entry:
                state.apply(entry["call"])
            else:
                state.hear(entry["text"])
        return {"reward": 1.0 if _success(state) else 0.0, "diagnostics": _diagnostics(state)}

    @staticmethod
    def reference_solution(task: dict) -> list[dict]:
        """Calls that follow the policy and earn reward 1."""
        return [step for request in task["requests"] for step in solve(task, request) if "name" in step]
