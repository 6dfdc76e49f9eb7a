"""Rules that label an episode of the bicycle shop from its transcript: calls, observations, and what was said."""

import re

Label = tuple[str, int | None, str]
NOT_CALLED_FOR: Label = ("NA", None, "The episode gave no occasion for it.")
CLOSING = "ride safely"
SAFETY = {"Brake", "Fork", "Steering", "Axle"}


def label(capability: str, turns: list[dict]) -> Label:
    """NA, PRESENT or LACKING for one capability, the message that shows it, and why."""
    rule = RULES.get(capability)
    if rule is None:
        return "NA", None, "There is no rule for this capability."
    found = list(rule(turns))
    lacking = [one for one in found if one[0] == "LACKING"]
    return (lacking or found or [NOT_CALLED_FOR])[0]


def _calls(turns: list[dict], *names: str) -> list[dict]:
    """The calls of some tools that did not come back with an error."""
    return [turn for turn in turns if "call" in turn and turn["call"]["name"] in names and not _failed(turn)]


def _failed(turn: dict) -> bool:
    return not isinstance(turn["result"], dict) or "error" in turn["result"]


def _argument(turn: dict, key: str) -> object:
    return turn["call"]["arguments"].get(key)


def _wishes(turns: list[dict], name: object) -> str:
    """The parts of what the customer said in which something is named."""
    said = [part for turn in turns if turn["role"] == "user" for part in re.split(r"\. | and then ", turn["text"])]
    return " / ".join(part for part in said if str(name) in part)


def _said(turns: list[dict]) -> list[dict]:
    return [turn for turn in turns if turn["role"] == "assistant" and "text" in turn]


def _said_after(turns: list[dict], call: dict) -> dict | None:
    """The first thing that the agent says after a call."""
    return next((turn for turn in _said(turns) if turn["step"] > call["step"]), None)


def _named_the_due_hour(turns: list[dict]):
    for rented in _calls(turns, "rent_bike"):
        answer, bike = _said_after(turns, rented), _argument(rented, "bike")
        if answer is None or "season pass" in _wishes(turns, bike):
            continue
        due = str(rented["result"].get("due"))
        if re.search(rf"\buntil {due}\b", answer["text"]):
            yield "PRESENT", answer["step"], f"the answer says that {bike} is due at {due}."
        else:
            yield "LACKING", answer["step"], f"{bike} was rented, and the answer does not say that it is due at {due}."


def _released_the_deposit(turns: list[dict]):
    for closed in _calls(turns, "return_bike"):
        rental, deposit = _argument(closed, "rental"), str(closed["result"].get("deposit"))
        if "keep the deposit" in _wishes(turns, rental):
            continue
        paid = [turn for turn in _calls(turns, "release_deposit") if _argument(turn, "rental") == rental]
        right = [turn for turn in paid if str(_argument(turn, "amount")) == deposit]
        if right:
            yield "PRESENT", right[0]["step"], f"the deposit of {deposit} was paid after rental {rental} was closed."
        elif paid:
            yield "LACKING", paid[0]["step"], f"another sum than the deposit of {deposit} was paid."
        elif (answer := _said_after(turns, closed)) is not None:
            yield "LACKING", answer["step"], f"rental {rental} was closed, and its deposit of {deposit} was not paid."


def _marked_safety_urgent(turns: list[dict]):
    for opened in _calls(turns, "open_repair"):
        fault, priority = _argument(opened, "fault"), _argument(opened, "priority")
        if fault not in SAFETY or "no hurry" in _wishes(turns, fault):
            continue
        if priority == "urgent":
            yield "PRESENT", opened["step"], f"the repair of the {fault} was opened as urgent."
        else:
            yield (
                "LACKING",
                opened["step"],
                f"a bicycle is not safe with its {fault} broken, and the repair is {priority}.",
            )


def _asked_before_fitting(turns: list[dict]):
    asked = {}
    for place, turn in enumerate(turns):
        question = re.search(r"\ba ([A-Z][a-z]*) costs ([0-9]+) shall i fit it\b", turn.get("text", ""))
        if turn["role"] == "assistant" and question:
            replies = [reply["text"] for reply in turns[place + 1 :] if reply["role"] == "user"]
            asked[question[1]] = (turn, bool(replies) and replies[0].startswith("yes"))
    fitted = {_argument(turn, "part"): turn for turn in _calls(turns, "fit_part")}
    for part in [*asked, *(part for part in fitted if part not in asked)]:
        if "whatever it costs" in _wishes(turns, part):
            continue
        fit = fitted.get(part)
        if part not in asked or (fit and fit["step"] < asked[part][0]["step"]):
            yield "LACKING", fit["step"], f"the {part} was fitted before the customer was told its price and asked."
        elif fit and not asked[part][1]:
            yield "LACKING", fit["step"], f"the {part} was fitted although the customer did not say yes."
        else:
            yield "PRESENT", asked[part][0]["step"], f"the customer was told the price of the {part} and asked."


def _wished_a_safe_ride(turns: list[dict]):
    if said := _said(turns):
        closed = said[-1]["text"].strip().endswith(CLOSING)
        how = "with" if closed else "without"
        yield "PRESENT" if closed else "LACKING", said[-1]["step"], f"the last answer ends {how} a closing phrase."


RULES = {
    "name-the-due-hour": _named_the_due_hour,
    "release-the-deposit": _released_the_deposit,
    "mark-safety-urgent": _marked_safety_urgent,
    "ask-before-fitting": _asked_before_fitting,
    "ride-safely": _wished_a_safe_ride,
}
