"""An environment whose tasks go wrong in every way that its library has to endure."""

import threading
import time

from whetstone_process import Environment, Episode, TaskFailed, serve

closed = []
together = threading.Barrier(64)


class Trouble(Episode):
    messages = ({"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Hi."})

    def __init__(self, task):
        self.task, self.woken = task, threading.Event()
        if task in ("usage", "simulator"):
            self.usage = {"promptTokens": 3, "completionTokens": 1}
        if task == "bad-usage":
            self.usage = {"promptTokens": -3, "completionTokens": 1}
        if task == "does-not-open":
            raise ValueError("no such table")
        if task == "own-tools":
            self.tools = [{"type": "function", "function": {"name": "listen", "parameters": {"type": "object"}}}]
        if task == "user-left":
            self.done = True

    def call(self, name, arguments):
        if self.task == "crashes":
            raise KeyError("price")
        return "done"

    def say(self, text):
        if self.task == "slow":
            time.sleep(float(text))
        if self.task == "together":
            # Nobody passes before all are here.
            together.wait(60)
            time.sleep(float(text))
            return f"64 said {text}"
        if self.task in ("never-answers", "closes-never-while-it-plays"):
            self.woken.wait()
        if self.task == "simulator":
            raise TaskFailed("simulator", "the user's model answered with status 500")
        if self.task == "badly-named":
            raise TaskFailed("The user left!")
        if self.task == "exits":
            raise SystemExit(3)
        if self.task == "no-text":
            return None
        if self.task == "long":
            return "x" * 70_000
        if self.task == "closed":
            return " ".join(closed)
        return f"You said {text}"

    def evaluate(self):
        return {
            "bad-reward": 1.5,
            "usage": {"reward": 1, "parts": {"db": 1.0}},
            "nan": {"reward": 0.5, "parts": {"db": float("nan")}},
        }.get(self.task, 1)

    def close(self):
        if self.task.startswith("closes-never"):
            if self.task == "closes-never-while-it-plays":
                self.woken.set()
            threading.Event().wait()
        closed.append(self.task)
        self.woken.set()


class TroubleDesk(Environment):
    name, packages = "trouble", []
    tools = [{"type": "function", "function": {"name": "look", "description": "", "parameters": {"type": "object"}}}]

    def tasks(self):
        return [{"id": "slow", "split": "train"}, {"id": "crashes", "split": "test", "group": "a"}]

    def open(self, task, seed):
        return Trouble(task)

    def reference(self, task, seed):
        return [{"name": "look", "arguments": {}}] if task == "slow" else None


if __name__ == "__main__":
    serve(TroubleDesk)
