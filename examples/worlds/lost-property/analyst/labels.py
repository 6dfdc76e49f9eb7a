"""Labels an episode of the lost-property office from its transcript: rules that stand in for a model's judgement."""

import re

Label = tuple[str, int | None, str]

QUESTION = re.compile(r"is ([A-Z][a-z]*) still right")
WISH = "have a good flight"


def _requests(turns: list[dict], about: str) -> str:
    """The parts of the owner's words that name something."""
    said = [part for turn in turns if turn["role"] == "user" for part in re.split(r"\. | and then ", turn["text"])]
    return " / ".join(part for part in said if re.search(rf"\b{re.escape(about)}\b", part))


def _made(turns: list[dict], *names: str) -> list[dict]:
    """Turns with calls of these tools that came back without an error, in order."""
    called = [turn for turn in turns if turn.get("call", {}).get("name") in names]
    return [turn for turn in called if isinstance(turn["result"], dict) and "error" not in turn["result"]]


def _given(turn: dict, key: str) -> str:
    return str(turn["call"]["arguments"].get(key, ""))


def _worst(found: list[Label]) -> Label:
    """A lack, if there is one; else what was shown; else nothing."""
    lacking = [one for one in found if one[0] == "LACKING"]
    return (lacking or found or [("NA", None, "The episode gave no occasion for it.")])[0]


def _search(turns: list[dict]) -> Label:
    known: dict[tuple, str] = {}
    found: list[Label] = []
    for turn in _made(turns, "find_item", "file_report"):
        item = _given(turn, "item")
        what = item, _given(turn, "hall")
        if "clerk has searched" in _requests(turns, item):
            continue
        if turn["call"]["name"] == "find_item":
            known[what] = str(turn["result"].get("tag"))
            found.append(("PRESENT", turn["step"], f"The store was searched for the {item} before it was reported."))
        elif what not in known:
            found.append(("LACKING", turn["step"], f"The {item} was reported and the store was not searched for it."))
        elif known[what] != "none":
            found.append(("LACKING", turn["step"], f"The {item} was reported although the store has it."))
    return _worst(found)


def _close(turns: list[dict]) -> Label:
    reports = {_given(turn, "tag"): str(turn["result"].get("report")) for turn in _made(turns, "get_item")}
    closed = {_given(turn, "report") for turn in _made(turns, "close_report")}
    found: list[Label] = []
    for turn in _made(turns, "hand_over"):
        tag = _given(turn, "tag")
        if "miss more" in _requests(turns, tag):
            continue
        if reports.get(tag) in closed:
            found.append(("PRESENT", turn["step"], f"Tag {tag} was handed over and its report was closed."))
        else:
            found.append(("LACKING", turn["step"], f"Tag {tag} was handed over and its report was left open."))
    return _worst(found)


def _ask(turns: list[dict]) -> Label:
    towns = {_given(turn, "tag"): str(turn["result"].get("town")) for turn in _made(turns, "get_item")}
    asked = {}
    for turn in turns:
        question = QUESTION.fullmatch(turn["text"]) if turn["role"] == "assistant" and "text" in turn else None
        if question:
            asked.setdefault(question[1], turn["step"])
    sent = {_given(turn, "tag"): turn["step"] for turn in _made(turns, "send_item")}
    found: list[Label] = []
    for tag in towns | sent:
        words = _requests(turns, tag)
        if "the same" in words or not re.search(r"\bsen[dt]\b|\bto my town\b", words):
            continue
        question = asked.get(towns.get(tag, ""))
        if question is not None and question < sent.get(tag, question + 1):
            found.append(("PRESENT", question, f"The owner was asked about the town before tag {tag} was sent."))
        elif tag in sent:
            found.append(("LACKING", sent[tag], f"Tag {tag} was sent and the owner was not asked about the town."))
    return _worst(found)


def _wish(turns: list[dict]) -> Label:
    answers = [turn for turn in turns if turn["role"] == "assistant" and "text" in turn]
    answers = [turn for turn in answers if not QUESTION.fullmatch(turn["text"])]
    if not answers:
        return "NA", None, "The owner got no answer."
    if answers[-1]["text"].endswith(WISH):
        return "PRESENT", answers[-1]["step"], "The last answer ends with a good wish."
    return "LACKING", answers[-1]["step"], "The last answer ends without a good wish."


RULES = {
    "search-before-report": _search,
    "close-the-report": _close,
    "ask-for-the-town": _ask,
    "wish-a-good-flight": _wish,
}


def label(capability: str, turns: list[dict]) -> Label:
    """The label of a capability in an episode, the message that shows it, and a reason."""
    rule = RULES.get(capability)
    return rule(turns) if rule else ("NA", None, "There is no rule for this capability.")
