"""Many conversations at once in one process."""

from talk import TOOL, TURNS, NoUserError, ask_user, opening, reward
from whetstone_process import Environment, Episode, TaskFailed, serve


class Conversation(Episode):
    def __init__(self, seed):
        self.seed, self.turn, self.messages = seed, 0, opening(seed)

    def say(self, text):
        self.turn += 1
        self.done = self.turn == TURNS
        try:
            return ask_user(str(self.seed), self.turn)
        except NoUserError as error:
            raise TaskFailed("simulator", str(error)) from None

    def call(self, name, arguments):
        return "It is noted."

    def evaluate(self):
        return reward(self.seed)


class Conversations(Environment):
    name = "conversations"
    tools = (TOOL,)
    packages = ()
    costs_tokens = True

    def open(self, task, seed):
        return Conversation(seed)


serve(Conversations)
