"""Rules that label an episode of the harbour office from its transcript: calls, observations, and what was said."""

import re

Label = tuple[str, int | None, str]
NOT_CALLED_FOR: Label = ("NA", None, "The episode gave no occasion for it.")
FAREWELL = "fair winds"


def label(capability: str, turns: list[dict]) -> Label:
    """NA, PRESENT or LACKING for one capability, the message that shows it, and why."""
    rule = RULES.get(capability)
    return rule(turns) if rule else ("NA", None, "There is no rule for this capability.")


def _asked(turns: list[dict]) -> str:
    """All that the skipper said."""
    return " ".join(turn["text"] for turn in turns if turn["role"] == "user")


def _made(turns: list[dict], *names: str) -> list[dict]:
    """The calls of some tools that did not come back with an error, in order."""
    called = [turn for turn in turns if turn.get("call", {}).get("name") in names]
    return [turn for turn in called if isinstance(turn["result"], dict) and "error" not in turn["result"]]


def _argument(turn: dict, key: str) -> object:
    return turn["call"]["arguments"].get(key)


def _read_the_berth(turns: list[dict]) -> Label:
    if re.search(r"\bown berth\b", _asked(turns)):
        return "NA", None, "The skipper names a berth of their own."
    shown = NOT_CALLED_FOR
    known: dict[object, dict] = {}
    for turn in _made(turns, "get_berth", "assign_berth"):
        berth = _argument(turn, "berth")
        if turn["call"]["name"] == "get_berth":
            known[berth] = turn["result"]
            shown = "PRESENT", turn["step"], f"berth {berth} was read before one was assigned."
        elif not known:
            return "LACKING", turn["step"], f"berth {berth} was assigned, and none had been read."
        elif berth not in [found.get("use") for found in known.values()]:
            return "LACKING", turn["step"], f"berth {berth} was assigned, and what was read says to use another one."
    return shown


def _debt_before_leaving(turns: list[dict]) -> Label:
    if re.search(r"\bguard\b", _asked(turns)):
        return "NA", None, "The boat leaves by order of the guard."
    shown = NOT_CALLED_FOR
    debts: dict[object, object] = {}
    for turn in _made(turns, "get_debt", "clear_boat"):
        boat = _argument(turn, "boat")
        if turn["call"]["name"] == "get_debt":
            debts[boat] = turn["result"].get("debt")
            shown = "PRESENT", turn["step"], f"the debt of {boat} was read before it was cleared or not."
        elif boat not in debts:
            return "LACKING", turn["step"], f"{boat} was cleared without a look at its debt."
        elif debts[boat]:
            return "LACKING", turn["step"], f"{boat} was cleared although it owes {debts[boat]}."
    return shown


def _lock_the_pump(turns: list[dict]) -> Label:
    if re.search(r"\bnext boat waits\b", _asked(turns)):
        return "NA", None, "The next boat waits at the pump."
    for fuelled in _made(turns, "fuel_boat"):
        pump = _argument(fuelled, "pump")
        locked = [turn for turn in _made(turns, "lock_pump") if _argument(turn, "pump") == pump]
        if not any(turn["step"] > fuelled["step"] for turn in locked):
            return "LACKING", fuelled["step"], f"pump {pump} was left open after the fuel."
        return "PRESENT", locked[-1]["step"], f"pump {pump} was locked after the fuel."
    return NOT_CALLED_FOR


def _charge_the_owner(turns: list[dict]) -> Label:
    if re.search(r"\bi pay\b", _asked(turns)):
        return "NA", None, "The skipper wants to pay."
    shown = NOT_CALLED_FOR
    owners = [turn["result"].get("owner") for turn in _made(turns, "get_boat")]
    for charged in _made(turns, "charge_service"):
        payer = _argument(charged, "payer")
        if payer not in owners:
            return "LACKING", charged["step"], f"the service was charged to {payer}, whom no look names as the owner."
        shown = "PRESENT", charged["step"], f"the service was charged to {payer}, the owner."
    return shown


def _wish_fair_winds(turns: list[dict]) -> Label:
    answers = [turn for turn in turns if turn["role"] == "assistant" and "text" in turn]
    if not answers:
        return "NA", None, "The skipper got no answer."
    wished = answers[-1]["text"].strip().endswith(FAREWELL)
    how = "with" if wished else "without"
    return "PRESENT" if wished else "LACKING", answers[-1]["step"], f"the last answer ends {how} a farewell."


RULES = {
    "read-the-berth": _read_the_berth,
    "debt-before-leaving": _debt_before_leaving,
    "lock-the-pump": _lock_the_pump,
    "charge-the-owner": _charge_the_owner,
    "wish-fair-winds": _wish_fair_winds,
}
