"""What the two agents of this fault test share: a user who is a service, and what a conversation is worth."""

import json
import os
import urllib.error
import urllib.request

TURNS = int(os.environ["TURNS"])
NOTE = {"name": "note", "description": "Keeps a note.", "parameters": {"type": "object"}}
TOOL = {"type": "function", "function": NOTE}


class NoUserError(Exception):
    """The service that plays the user refused to answer."""


def opening(seed):
    """The messages with which the conversation of a task begins."""
    user = f"This is task {seed}. Ask me what you need."
    return [{"role": "system", "content": "You help people."}, {"role": "user", "content": user}]


def ask_user(episode, turn):
    """The user's next words. It may take as long as the service wants: the deadline is that of the environment."""
    body = json.dumps({"episode": episode, "turn": turn}).encode()
    request = urllib.request.Request(os.environ["USER_URL"], body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)["text"]
    except urllib.error.HTTPError as error:
        raise NoUserError(f"The user's service answered {error.code}.") from None


def reward(seed):
    """Half of the tasks succeed."""
    return (seed >> 1) % 2
