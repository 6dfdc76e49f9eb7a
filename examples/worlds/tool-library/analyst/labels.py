"""Labels an episode at the tool library from its transcript."""

import re

QUESTION = "which day do you bring it back"
REFUSAL = "can not be extended"

Label = tuple[str, int | None, str]


def label(capability: str, turns: list[dict]) -> Label:
    """("NA" | "PRESENT" | "LACKING", number of the message that shows it or None, a reason in a sentence)."""
    rule = RULES.get(capability)
    return rule(turns) if rule else _na("The rules do not know this capability.")


def _na(reason: str) -> Label:
    return "NA", None, reason


def _calls(turns: list[dict], name: str) -> list[dict]:
    return [turn for turn in turns if turn.get("call", {}).get("name") == name]


def _given(turn: dict, key: str) -> object:
    arguments = turn["call"].get("arguments")
    return arguments.get(key) if isinstance(arguments, dict) else None


def _result(turn: dict) -> dict:
    result = turn.get("result")
    return result if isinstance(result, dict) else {}


def _texts(turns: list[dict]) -> list[dict]:
    return [turn for turn in turns if turn["role"] == "assistant" and "text" in turn]


def _asked(turns: list[dict]) -> str:
    return " ".join(turn["text"] for turn in turns if turn["role"] == "user" and "text" in turn)


def _ask_return_day(turns: list[dict]) -> Label:
    wish = re.search(r"(?:lend me|borrow|take) the [A-Z][a-z]+ [A-Z][a-z]+(?: home)?( until)?", _asked(turns))
    if not wish:
        return _na("Nobody asks to borrow a tool.")
    if wish[1]:
        return _na("The member names the day in the request.")
    lent = [turn["step"] for turn in _calls(turns, "lend_tool") if _result(turn).get("ok") is True]
    questions = [turn["step"] for turn in _texts(turns) if turn["text"] == QUESTION]
    if questions and not (lent and lent[0] < questions[0]):
        return "PRESENT", questions[0], "The desk asks for the day of return before it lends the tool."
    if lent:
        return "LACKING", lent[0], "The desk lends the tool until a day that the member never named."
    return _na("The tool is not lent.")


def _fee_from_the_record(turns: list[dict]) -> Label:
    charges = [turn for turn in _calls(turns, "charge_fee") if _result(turn).get("ok") is True]
    if not charges:
        return _na("No fee is charged.")
    if "warden" in _asked(turns):
        return _na("The warden agreed to a fee.")
    for charge in charges:
        record = [
            _result(turn).get("fee")
            for turn in _calls(turns, "get_loan")
            if turn["step"] < charge["step"] and _given(turn, "loan") == _given(charge, "loan")
        ]
        if not record:
            return "LACKING", charge["step"], "The desk charges the fee without reading the record of the loan."
        if record[-1] != _given(charge, "fee"):
            return "LACKING", charge["step"], "The desk charges another fee than the record shows."
    return "PRESENT", charges[0]["step"], "The desk charges the fee that it read in the record."


def _block_risky_tool(turns: list[dict]) -> Label:
    reports = [turn for turn in _calls(turns, "report_fault") if _result(turn).get("risk") == "high"]
    if not reports:
        return _na("No report says that the risk is high.")
    if "mended" in _asked(turns):
        return _na("The tool is mended.")
    report = reports[0]
    for turn in _calls(turns, "block_tool"):
        if turn["step"] > report["step"] and _given(turn, "tool") == _given(report, "tool"):
            return "PRESENT", turn["step"], "The desk blocks the tool after a report of high risk."
    answers = [turn["step"] for turn in _texts(turns) if turn["step"] > report["step"] and turn["text"] != QUESTION]
    if answers:
        return "LACKING", answers[0], "The risk is high, and the desk answers without blocking the tool."
    return _na("The episode ends before the tool could be blocked.")


def _admit_refusal(turns: list[dict]) -> Label:
    refused = [turn["step"] for turn in _calls(turns, "extend_loan") if _result(turn).get("ok") is False]
    if not refused:
        return _na("The register refuses no extension.")
    answers = [turn for turn in _texts(turns) if turn["step"] > refused[0] and turn["text"] != QUESTION]
    if not answers:
        return _na("The episode ends before an answer.")
    if REFUSAL in answers[0]["text"]:
        return "PRESENT", answers[0]["step"], "The desk says that the loan can not be extended."
    return "LACKING", answers[0]["step"], "The register refused, and the desk does not say so."


def _log_the_visit(turns: list[dict]) -> Label:
    logged = [turn["step"] for turn in _calls(turns, "log_visit") if _result(turn).get("ok") is True]
    if logged:
        return "PRESENT", logged[0], "The desk logs the visit."
    done = [turn["step"] for turn in turns if turn["role"] == "assistant"]
    return ("LACKING", done[-1], "The desk logs no visit.") if done else _na("The desk does nothing.")


RULES = {
    "ask-return-day": _ask_return_day,
    "fee-from-the-record": _fee_from_the_record,
    "block-risky-tool": _block_risky_tool,
    "admit-refusal": _admit_refusal,
    "log-the-visit": _log_the_visit,
}
