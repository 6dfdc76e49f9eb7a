"""Rules that label an episode of the venue desk from its transcript: calls, observations, and what was said."""

import re

Label = tuple[str, int | None, str]
NOT_CALLED_FOR: Label = ("NA", None, "The episode gave no occasion for it.")
CLOSING = "thanks for calling"


def label(capability: str, turns: list[dict]) -> Label:
    """NA, PRESENT or LACKING for one capability, the message that shows it, and why."""
    rule = RULES.get(capability)
    if rule is None:
        return "NA", None, "There is no rule for this capability."
    found = [one for one in rule(turns) if one is not None]
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
    """The parts of what the customer said in which a booking or a room is named."""
    said = [part for turn in turns if turn["role"] == "user" for part in re.split(r"\. | and then ", turn["text"])]
    return " / ".join(part for part in said if str(name) in part)


def _checked_before_booking(turns: list[dict]):
    for check in _calls(turns, "check_room"):
        place = _argument(check, "room"), _argument(check, "day")
        booked = [
            turn for turn in _calls(turns, "book_room") if turn["call"]["arguments"] == check["call"]["arguments"]
        ]
        if booked and check["result"].get("state") != "free":
            yield "LACKING", booked[0]["step"], f"{place[0]} was booked for {place[1]} although the check said taken."
        else:
            yield "PRESENT", check["step"], f"{place[0]} was checked for {place[1]} before the decision."
    for booked in _calls(turns, "book_room"):
        room = _argument(booked, "room")
        earlier = [turn for turn in _calls(turns, "check_room") if turn["step"] < booked["step"]]
        if re.search(r"\bhold\b", _wishes(turns, room)):
            continue
        if not any(turn["call"]["arguments"] == booked["call"]["arguments"] for turn in earlier):
            yield "LACKING", booked["step"], f"{room} was booked without a check whether it was free."


def _notified_every_guest(turns: list[dict]):
    for move in _calls(turns, "move_booking"):
        booking = _argument(move, "booking")
        if re.search(r"\b(nobody|surprise)\b", _wishes(turns, booking)):
            continue
        told = [
            _argument(turn, "guest") for turn in _calls(turns, "notify_guest") if _argument(turn, "booking") == booking
        ]
        read = [turn for turn in _calls(turns, "get_booking") if _argument(turn, "booking") == booking]
        guests = read[0]["result"].get("guests", []) if read else []
        left = [guest for guest in guests if guest not in told]
        if left or not told:
            missing = ", ".join(left) or "its guests"
            yield "LACKING", move["step"], f"booking {booking} was moved without a word to {missing}."
        else:
            yield "PRESENT", move["step"], f"booking {booking} was moved, and each of its guests was notified."


def _kept_from_the_customer(turns: list[dict]):
    for added in _calls(turns, "add_extra"):
        answer = _answer_after(turns, added)
        if answer is None or not _firm_pays(turns, added):
            continue
        if re.search(r"\btotal\b", answer["text"]):
            yield "LACKING", answer["step"], "the firm pays, and the customer was told a total."
        else:
            yield "PRESENT", answer["step"], "the firm pays, and the answer leaves the total out."


def _answer_after(turns: list[dict], call: dict) -> dict | None:
    """The first thing that the agent says after a call."""
    said = [turn for turn in turns if turn["role"] == "assistant" and "text" in turn and turn["step"] > call["step"]]
    return said[0] if said else None


def _firm_pays(turns: list[dict], added: dict) -> bool:
    return "firm pays" in _wishes(turns, _argument(added, "booking"))


def _stated_the_total(turns: list[dict]):
    for added in _calls(turns, "add_extra"):
        answer = _answer_after(turns, added)
        if answer is None or _firm_pays(turns, added):
            continue
        total = str(added["result"].get("total"))
        if re.search(rf"\b{total}\b", answer["text"]):
            yield "PRESENT", answer["step"], f"the answer says that the total is {total}."
        else:
            yield "LACKING", answer["step"], f"the extra was added, and the answer does not say the total of {total}."


def _signed_off(turns: list[dict]):
    answers = [turn for turn in turns if turn["role"] == "assistant" and "text" in turn]
    if answers:
        closed = answers[-1]["text"].strip().endswith(CLOSING)
        how = "with" if closed else "without"
        yield "PRESENT" if closed else "LACKING", answers[-1]["step"], f"the last answer ends {how} a closing phrase."


RULES = {
    "check-before-booking": _checked_before_booking,
    "notify-every-guest": _notified_every_guest,
    "state-the-total": _stated_the_total,
    "withhold-from-firm": _kept_from_the_customer,
    "sign-off": _signed_off,
}
