"""A process that speaks version 2 of the environment protocol; WAYS says how it treats each seed: {seed: way}.

With SOLUTIONS, a call of `add` solves each task."""

import json
import os
import threading
import time

WAYS = {int(seed): way for seed, way in json.loads(os.environ.get("WAYS", "{}")).items()}
SOLUTIONS = "SOLUTIONS" in os.environ
RESET_SECONDS = float(os.environ.get("RESET_SECONDS", "0"))
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
ANSWERS = os.fdopen(4, "wb", buffering=0)
LOCK = threading.Lock()
SEEDS = {}
SILENT = threading.Event()


class Failed(Exception):
    def __init__(self, kind, message, **more):
        super().__init__(message)
        self.body = {"type": kind, "message": message, **more}


def send(document):
    if not SILENT.is_set():
        write(json.dumps(document).encode() + b"\n")


def write(line):
    with LOCK:
        while line:
            line = line[ANSWERS.write(line) :]


def beat():
    while True:
        time.sleep(0.1)
        send({"beat": {"open": len(SEEDS), "waiting": 0}})


def hello(params):
    facts = {"deterministic": False, "hasReferences": SOLUTIONS, "hasDiagnostics": False, "costsTokens": True}
    packages = os.environ.get("PACKAGES", "desk==1.0")
    return {"apiVersion": int(os.environ.get("VERSION", "2")), "name": "desk", "packages": packages, "facts": facts}


def describe(params):
    return {"tools": [TOOL], "hasSay": True, "hasHints": False}


def reset(params):
    seed = params["seed"]
    if WAYS.get(seed) == "crash-at-reset":
        os._exit(4)
    time.sleep(RESET_SECONDS)
    SEEDS[params["episode"]] = seed
    name = params.get("task", seed)
    opening = [("system", "Add."), ("assistant", "Hello!"), ("user", f"Task {name}")]
    opened = {"messages": [{"role": role, "content": text} for role, text in opening], "tags": []}
    if WAYS.get(seed) == "own-tools":
        return {**opened, "tools": [{"type": "function", "function": {"name": "subtract"}}]}
    return opened


def step(params):
    seed = SEEDS[params["episode"]]
    way = WAYS.get(seed)
    if way == "never":
        time.sleep(3600)
    if way == "crash":
        os._exit(3)
    if way == "garbage":
        write(b"nonsense\n")
    if way == "flood":
        write(b"x" * (2 << 20) + b"\n")
    if way == "beats":
        while True:
            write(b'{"beat": {"open": 1, "waiting": 1}}\n' * 100)
    if way == "silence":
        SILENT.set()
        time.sleep(3600)
    if way == "raise":
        raise Failed("EnvironmentRaised", "KeyError: 'user'", traceback="server.py:1")
    if way == "simulator":
        usage = {"promptTokens": 7, "completionTokens": 1}
        raise Failed("TaskFailed", "The simulator has no answer.", cause="simulator", usage=usage)
    if way == "badly-counted":
        raise Failed("TaskFailed", "It has no answer.", cause="simulator", usage={"promptTokens": -7})
    if way == "badly-named":
        raise Failed("TaskFailed", "It has no answer.", cause="The judge\u001b[31m")
    if way == "look":
        return {"observations": [look(call) for call in params["calls"]], "done": False}
    said = params.get("text")
    answers = [f"{call['name']} {said}" for call in params.get("calls", [])] or [f"you said {said}"]
    return {"observations": answers, "done": way == "done"}


def look(call):
    """What a Python expression of the call is, or why it has no value."""
    try:
        return repr(eval(call["arguments"]["code"]))  # noqa: S307
    except BaseException as error:
        return type(error).__name__


def evaluate(params):
    seed = SEEDS.pop(params["episode"])
    way = WAYS.get(seed)
    if way == "judge":
        raise Failed("TaskFailed", "The judge has no answer.", cause="judge")
    usage = {"promptTokens": 10, "completionTokens": 2}
    return {"reward": 2 if way == "two" else 0.5, "parts": {"db": 1, "words": 0}, "usage": usage}


def drop(params):
    seed = SEEDS.pop(params["episode"], None)
    return {} if seed is None else {"usage": {"promptTokens": 4, "completionTokens": 1}}


def task(params):
    return {"task": {"name": params.get("task", params["seed"]), "open": len(SEEDS), "process": os.environ["PWD"]}}


def reference(params):
    return {"calls": [{"name": "add", "arguments": {}}] if SOLUTIONS else None}


METHODS = {method.__name__: method for method in (hello, describe, reset, step, evaluate, drop, task, reference)}


def answer(request):
    try:
        send({"id": request["id"], "result": METHODS[request["method"]](request["params"])})
    except Failed as failed:
        send({"id": request["id"], "error": failed.body})


threading.Thread(target=beat, daemon=True).start()
with os.fdopen(3) as requests:
    for line in requests:
        threading.Thread(target=answer, args=(json.loads(line),), daemon=True).start()
