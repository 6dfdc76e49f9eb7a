"""Labels an episode of the appointment desk from its transcript: rules that stand in for a model's judgement."""

import re

Label = tuple[str, int | None, str]

MOVED = re.compile(r"(?:move visit|cannot come to visit|change my visit) (\d+) (?:to|but can at) (\d+)")
PAYS = re.compile(r"\bi pay\b")
SLOT = re.compile(r"\b\d{4}\b")
REVIEWED = re.compile(r"\breviewed\b")


def _asked(turns: list[dict]) -> str:
    """All that the patient said."""
    return " ".join(turn["text"] for turn in turns if turn["role"] == "user")


def _made(turns: list[dict], *names: str) -> list[dict]:
    """Turns with calls of these tools that came back without an error, in order."""
    called = [turn for turn in turns if turn.get("call", {}).get("name") in names]
    return [turn for turn in called if isinstance(turn["result"], dict) and "error" not in turn["result"]]


def _look_first(turns: list[dict], look: str, act: str, about: str, allows) -> Label:
    """Whether each act was preceded by a look into what it is about, and that look allowed it."""
    known: dict[str, dict] = {}
    shown: Label = ("NA", None, "The episode gave no occasion for it.")
    for turn in _made(turns, look, act):
        subject = turn["call"]["arguments"].get(about, "")
        if turn["call"]["name"] == look:
            known[subject] = turn["result"]
            shown = ("PRESENT", turn["step"], f"{look} was asked about {subject} before anything was done about it.")
        elif subject not in known:
            return "LACKING", turn["step"], f"{act} for {subject} without {look} before it."
        elif not allows(known[subject]):
            return "LACKING", turn["step"], f"{act} for {subject} although {look} spoke against it."
    return shown


def _insurance(turns: list[dict]) -> Label:
    if PAYS.search(_asked(turns)):
        return "NA", None, "The patient pays, so the insurer is not asked."
    return _look_first(turns, "check_insurance", "book_specialist", "field", lambda found: found.get("covered") is True)


def _allergies(turns: list[dict]) -> Label:
    if REVIEWED.search(_asked(turns)):
        return "NA", None, "A doctor has reviewed the drug."
    return _look_first(turns, "get_allergies", "renew_drug", "drug", lambda found: found.get("reaction") == "none")


def _consent(turns: list[dict]) -> Label:
    others = [
        turn
        for turn in turns
        if turn.get("call", {}).get("name") != "send_record" or turn["call"]["arguments"].get("receiver") != "me"
    ]
    return _look_first(others, "log_consent", "send_record", "receiver", lambda _: True)


def _old_visit(turns: list[dict]) -> Label:
    cancelled = {turn["call"]["arguments"]["visit"] for turn in _made(turns, "cancel_visit")}
    booked = {turn["call"]["arguments"]["slot"]: turn["step"] for turn in _made(turns, "book_visit")}
    for visit, slot in MOVED.findall(_asked(turns)):
        if slot in booked:
            if visit in cancelled:
                return "PRESENT", booked[slot], f"{slot} was booked and {visit} cancelled."
            return "LACKING", booked[slot], f"{slot} was booked in place of {visit}, which was left as it was."
    return "NA", None, "No visit was moved."


def _slot(turns: list[dict]) -> Label:
    named = set(SLOT.findall(_asked(turns)))
    used: Label = ("NA", None, "No slot was named or used.")
    for turn in turns:
        if turn["role"] == "assistant":
            told = turn["text"] if "text" in turn else " ".join(map(str, turn["call"]["arguments"].values()))
            for slot in SLOT.findall(told):
                if slot not in named:
                    return "LACKING", turn["step"], f"{slot} is no slot that the patient named."
                used = ("PRESENT", turn["step"], f"{slot} is a slot that the patient named.")
    return used


def _wish(turns: list[dict]) -> Label:
    for turn in turns:
        if turn["role"] == "assistant" and "text" in turn:
            if turn["text"].endswith("take care"):
                return "PRESENT", turn["step"], "The answer ends with a good wish."
            return "LACKING", turn["step"], "The answer ends without a good wish."
    return "NA", None, "The patient got no answer."


RULES = {
    "insurance-before-specialist": _insurance,
    "allergies-before-renewal": _allergies,
    "cancel-the-old-visit": _old_visit,
    "log-the-consent": _consent,
    "repeat-the-slot": _slot,
    "wish-well": _wish,
}


def label(capability: str, turns: list[dict]) -> Label:
    """The label of a capability in an episode, the message that shows it, and a reason."""
    return RULES[capability](turns)
