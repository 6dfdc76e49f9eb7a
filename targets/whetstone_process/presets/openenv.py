"""An environment of OpenEnv, by the address of its server. Each episode is a session of the server, over a WebSocket.

The agent has one tool, `act`, whose parameters are the server's schema of an action. What it reads is the observation
as JSON, or its text if the observation has one field. The reward is that of the last step which has one, or their sum.
Tools by MCP, and the server's lists of tasks, are not used: a task is a seed.
"""

import argparse
import json
import urllib.request

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from whetstone_process import Environment, Episode, TaskFailed, serve

SECONDS = 600
"""How long a server may take for an answer; the deadlines of agent.yaml are shorter."""
AGENTS_FAULTS = ("VALIDATION_ERROR", "INVALID_JSON")


class Session(Episode):
    """An episode, which is a session of the server."""

    def __init__(self, desk, seed):
        self._desk, self._rewards = desk, []
        try:
            self._socket = connect(desk.socket_url, open_timeout=SECONDS, max_size=1 << 24)
        except (OSError, WebSocketException) as error:
            raise TaskFailed("environment", f"the server does not take a session: {error}") from None
        try:
            first = self._ask("reset", {"seed": seed})
        except BaseException:
            self.close()
            raise
        self.messages = [{"role": "user", "content": first}]
        if desk.prompt:
            self.messages.insert(0, {"role": "system", "content": desk.prompt})

    def call(self, name, arguments):
        return self._ask("step", arguments)

    def say(self, text):
        if self._desk.text_field is None:
            self.done = True
            return ""
        return self._ask("step", {self._desk.text_field: text})

    def evaluate(self):
        if not self._rewards:
            return 0.0
        return sum(self._rewards) if self._desk.sums_rewards else self._rewards[-1]

    def close(self):
        self._socket.close()

    def _ask(self, kind, data):
        """What the agent reads after a reset or a step."""
        try:
            self._socket.send(json.dumps({"type": kind, "data": data}))
            answer = json.loads(self._socket.recv(timeout=SECONDS))
        except (OSError, ValueError, WebSocketException) as error:
            raise TaskFailed("environment", f"the server did not answer {kind}: {error}") from None
        found = answer.get("data") or {}
        if answer.get("type") == "error":
            if kind == "step" and found.get("code") in AGENTS_FAULTS:
                details = [f"{'.'.join(map(str, at['loc']))}: {at['msg']}" for at in found.get("errors", [])]
                return "Error: " + ("; ".join(details) or str(found.get("message")))
            raise TaskFailed("environment", f"{kind}: {found.get('code')}: {found.get('message')}")
        if kind == "step" and found.get("reward") is not None:
            self._rewards.append(float(found["reward"]))
        self.done = bool(found.get("done"))
        seen = {name: value for name, value in found.get("observation", {}).items() if name != "metadata"}
        only = list(seen.values())
        return only[0] if len(only) == 1 and isinstance(only[0], str) else json.dumps(seen, ensure_ascii=False)


class OpenEnv(Environment):
    """The environment of a server."""

    name, packages = "openenv", ("websockets",)

    def __init__(self, options):
        base = options.url.rstrip("/")
        self.socket_url = "ws" + base.removeprefix("http") + "/ws"
        self.prompt, self.text_field = options.prompt, options.text_field
        self.sums_rewards = options.reward == "sum"
        with urllib.request.urlopen(f"{base}/schema", timeout=60) as answer:
            action = json.load(answer)["action"]
        fields = {name: field for name, field in action.get("properties", {}).items() if name != "metadata"}
        if self.text_field is not None and self.text_field not in fields:
            raise SystemExit(f"The server's action has no field {self.text_field!r}. It has: {', '.join(fields)}.")
        description = action.get("description") or "Acts in the environment."
        parameters = {**action, "properties": fields}
        self.tools = [
            {"type": "function", "function": {"name": "act", "description": description, "parameters": parameters}}
        ]
        self.has_say = self.text_field is not None

    def open(self, task, seed):
        return Session(self, seed)


def options_of(arguments=None):
    """The command line."""
    parser = argparse.ArgumentParser(prog="openenv", description=__doc__)
    parser.add_argument("--url", required=True, help="address of the server: http://host:port")
    parser.add_argument("--reward", choices=("last", "sum"), default="last")
    parser.add_argument("--text-field", help="field of an action that takes what the agent says without a call")
    parser.add_argument("--prompt", help="a system message before the first observation")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    serve(lambda: OpenEnv(options_of()))
