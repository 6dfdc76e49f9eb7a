"""Answers label questions with the rules of a world's labels.py: one JSON line in, one out, in order.

    python label_worker.py WORLD/analyst/labels.py

The first line out says that the rules are loaded. Request {"capability", "turns"}; response {"label", "step", "reason"}
or {"error"}.
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


def answer(rules, request: dict) -> dict:
    """The rules' judgement, checked."""
    try:
        label, step, reason = rules.label(request["capability"], request["turns"])
    except Exception:
        return {"error": f"label({request['capability']!r}) raised: {traceback.format_exc(limit=-2)}"}
    valid = label in LABELS and (step is None or isinstance(step, int)) and isinstance(reason, str)
    if not valid:
        return {"error": f"label({request['capability']!r}) returned {(label, step, reason)!r}"}
    return {"label": label, "step": None if label == "NA" else step, "reason": reason}


def main() -> None:
    """Reads requests until the end of standard input. What the rules print goes to standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    rules = load(sys.argv[1])
    print(json.dumps({"loaded": True}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(rules, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
