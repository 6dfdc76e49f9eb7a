"""Rules that label an episode of the meter desk from its transcript: calls, observations, and what was said."""

import re

Label = tuple[str, int | None, str]
NOT_CALLED_FOR: Label = ("NA", None, "The episode gave no occasion for it.")
QUESTION = "is it meter"


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
    """The parts of what the inspector said in which a meter or a site is named; empty where none is."""
    said = [part for turn in turns if turn["role"] == "user" for part in re.split(r"\. | and then ", turn["text"])]
    return " / ".join(part for part in said if str(name) in part)


def _warned_before_shutting(turns: list[dict]):
    warned = _calls(turns, "warn_household")
    for shut in _calls(turns, "shut_supply"):
        meter = _argument(shut, "meter")
        wishes = _wishes(turns, meter)
        if not wishes or re.search(r"\bburst\b", wishes):
            continue
        before = [turn for turn in warned if turn["step"] < shut["step"] and _argument(turn, "meter") == meter]
        if before:
            yield "PRESENT", before[0]["step"], f"the household of meter {meter} was warned before it was shut."
        else:
            yield "LACKING", shut["step"], f"meter {meter} was shut without a warning to its household."


def _sent_own_crew(turns: list[dict]):
    for visit in _calls(turns, "book_visit"):
        meter, crew = _argument(visit, "meter"), _argument(visit, "crew")
        wishes = _wishes(turns, meter)
        if not wishes or re.search(r"\bon leave\b", wishes):
            continue
        own = [turn["result"].get("crew") for turn in _calls(turns, "get_meter") if _argument(turn, "meter") == meter]
        if crew in own:
            yield "PRESENT", visit["step"], f"the visit went to {crew}, the crew that looks after meter {meter}."
        else:
            yield "LACKING", visit["step"], f"the visit to meter {meter} went to {crew}, which is not its own crew."


def _asked_which_meter(turns: list[dict]):
    asked = [turn for turn in turns if turn["role"] == "assistant" and turn.get("text", "").startswith(QUESTION)]
    for found in _calls(turns, "find_meters"):
        site, meters = _argument(found, "site"), found["result"].get("meters", [])
        wishes = _wishes(turns, site)
        if len(meters) < 2 or not wishes or re.search(r"\bfirst meter\b", wishes):
            continue
        questions = [turn for turn in asked if all(meter in turn["text"] for meter in meters)]
        records = [turn for turn in _calls(turns, "record_reading") if _argument(turn, "meter") in meters]
        if records and not any(turn["step"] < records[0]["step"] for turn in questions):
            yield "LACKING", records[0]["step"], f"{site} has two meters, and one was taken without a question."
        elif questions:
            yield "PRESENT", questions[0]["step"], f"the inspector was asked which of the two meters at {site} it is."


def _logged_the_call(turns: list[dict]):
    logged = _calls(turns, "log_call")
    acted = [turn for turn in turns if turn["role"] == "assistant"]
    if logged:
        yield "PRESENT", logged[0]["step"], "the call was logged under the inspector's name."
    elif acted:
        yield "LACKING", acted[-1]["step"], "the call was never logged."


RULES = {
    "warn-before-shutting": _warned_before_shutting,
    "send-own-crew": _sent_own_crew,
    "ask-which-meter": _asked_which_meter,
    "log-the-call": _logged_the_call,
}
