"""Answers label questions with the rules of a world's labels.py: one JSON line in, one out, in order.

    python label_worker.py WORLD/analyst/labels.py

The first line out says that the rules are loaded. Request {"capability", "turns"}; response {"label", "step", "reason"}
or {"error"}. After an error the rules are loaded again, so that a corrected file answers the next request.
"""

import importlib.util
import json
import sys
import traceback

LABELS = ("NA", "PRESENT", "LACKING")


def load(path: str):
    """The module of rules."""
    spec = importlib.util.spec_from_file_location("labels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not callable(getattr(module, "label", None)):
        raise SystemExit(f"{path} has no function label(capability, turns)")
    return module


def load_again(path: str, rules):
    """The rules as the file has them now; those of before where it cannot be loaded."""
    try:
        return load(path)
    except (Exception, SystemExit):
        traceback.print_exc()
        return rules


def is_judgement(answered: object) -> bool:
    """Whether it is (label, step, reason)."""
    if not isinstance(answered, tuple) or len(answered) != 3:
        return False
    label, step, reason = answered
    return label in LABELS and (step is None or isinstance(step, int)) and isinstance(reason, str)


def answer(rules, request: dict) -> dict:
    """The rules' judgement, checked."""
    try:
        answered = rules.label(request["capability"], request["turns"])
    except Exception as error:
        line = traceback.extract_tb(error.__traceback__)[-1].lineno
        return {"error": f"line {line}: label({request['capability']!r}) raised {type(error).__name__}: {error}"}
    if not is_judgement(answered):
        return {"error": f"label({request['capability']!r}) returned {answered!r}, not label, step and reason"}
    label, step, reason = answered
    return {"label": label, "step": None if label == "NA" else step, "reason": reason}


def main() -> None:
    """Reads requests until the end of standard input. What the rules print goes to standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    rules = load(sys.argv[1])
    print(json.dumps({"loaded": True}), file=answers, flush=True)
    has_failed = False
    for line in sys.stdin:
        if has_failed:
            rules = load_again(sys.argv[1], rules)
        answered = answer(rules, json.loads(line))
        has_failed = "error" in answered
        print(json.dumps(answered), file=answers, flush=True)


if __name__ == "__main__":
    main()
