"""Rules in place of an analyst's labels for conversations of tau2's airline and retail (examples/worlds/README.md)."""

import json
import re

Label = tuple[str, int | None, str]

READS = ("get_", "find_", "search_")
CHANGES = ("cancel_", "update_", "modify_", "exchange_", "return_", "book_", "send_")
IDENTIFIER = re.compile(r"#?\b(?=[A-Za-z0-9_]*\d)[A-Za-z0-9_]{5,}\b")
WRITTEN_CALL = re.compile(r'"(?:arguments|parameters)"\s*:|<tool_call>')


def label(capability: str, turns: list[dict]) -> Label:
    """NA, PRESENT or LACKING for one capability, the message that shows it, and why."""
    return RULES[capability](turns)


def _calls(turns: list[dict]) -> list[dict]:
    return [turn for turn in turns if "call" in turn]


def _name(turn: dict) -> str:
    return turn["call"]["name"]


def _worked(turn: dict) -> bool:
    return not str(turn.get("observation", turn.get("result", ""))).startswith("Error")


def _read_the_record(turns: list[dict]) -> Label:
    said = next((turn for turn in turns if turn["role"] == "user" and IDENTIFIER.search(turn["text"])), None)
    if said is None:
        return "NA", None, "The customer gave no identifier."
    after = [turn for turn in turns if turn["step"] > said["step"]]
    read = next((turn for turn in _calls(after) if _name(turn).startswith(READS) and _worked(turn)), None)
    if read is not None:
        return "PRESENT", read["step"], f"{_name(read)} read the record."
    answered = next((turn for turn in after if turn["role"] == "assistant"), None)
    if answered is None:
        return "NA", None, "The conversation ended with the identifier."
    return "LACKING", answered["step"], "The agent answered and never read a record."


def _call_instead_of_text(turns: list[dict]) -> Label:
    written = next((t for t in turns if t["role"] == "assistant" and WRITTEN_CALL.search(t.get("text") or "")), None)
    if written is not None:
        return "LACKING", written["step"], "A call stands in the text, and was not made."
    made = _calls(turns)
    return ("PRESENT", made[0]["step"], "The call was made.") if made else ("NA", None, "There was no call.")


def _no_invented_identifiers(turns: list[dict]) -> Label:
    heard, shown = "", None
    for turn in turns:
        if "call" in turn:
            named = IDENTIFIER.findall(json.dumps(turn["call"]["arguments"]))
            shown = shown or (turn["step"] if named else None)
            unknown = [name for name in named if name.strip("#").lower() not in heard]
            if unknown:
                return "LACKING", turn["step"], f"Nobody has said {unknown[0]}."
            heard += str(turn.get("observation", turn.get("result", ""))).lower()
        elif turn["role"] != "assistant":
            heard += str(turn.get("text", "")).lower()
    if shown is None:
        return "NA", None, "No call names an identifier."
    return "PRESENT", shown, "All identifiers were said before."


def _check_before_a_change(turns: list[dict]) -> Label:
    calls = _calls(turns)
    change = next((turn for turn in calls if _name(turn).startswith(CHANGES)), None)
    if change is None:
        return "NA", None, "Nothing was changed."
    before = [turn for turn in calls if turn["step"] < change["step"] and _name(turn).startswith(READS)]
    if any(map(_worked, before)):
        return "PRESENT", change["step"], "The record was read before."
    return "LACKING", change["step"], f"{_name(change)} was called before any record was read."


RULES = {
    "read-the-record": _read_the_record,
    "call-instead-of-text": _call_instead_of_text,
    "no-invented-identifiers": _no_invented_identifiers,
    "check-before-a-change": _check_before_a_change,
}
