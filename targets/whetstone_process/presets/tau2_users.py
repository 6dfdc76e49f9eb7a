"""Users of tau2 without a model, for tests, and for tries of an agent before a model plays the user."""

import re

from tau2.data_model.message import MultiToolMessage, ToolCall, ToolMessage, UserMessage
from tau2.user.base import STOP
from tau2.user.user_simulator import UserSimulator

from whetstone_process.presets.tau2_gold import gold_turns


class GoldUser(UserSimulator):
    """Plays the user's gold actions, a run of them for each text of the agent, and leaves at the next text."""

    def __init__(self, task):
        super().__init__(instructions="", llm="script")
        self._turns = [actions for side, actions in gold_turns(task) if side == "user"]
        self._texts = self._calls = 0

    def generate_next_message(self, message, state):
        if isinstance(message, (ToolMessage, MultiToolMessage)):
            return _user(content="I did that."), state
        self._texts += 1
        if self._texts == 1:
            return _user(content="Hello, I need your help."), state
        if not self._turns:
            return _user(content=STOP), state
        made = []
        for action in self._turns.pop(0):
            self._calls += 1
            identifier = f"user_{self._calls}"
            made.append(ToolCall(id=identifier, name=action.name, arguments=action.arguments, requestor="user"))
        return _user(tool_calls=made), state


class LeavingUser(UserSimulator):
    """Asks for help, does nothing, and leaves at the agent's second text."""

    def __init__(self, task):
        super().__init__(instructions="", llm="script")
        self._texts = 0

    def generate_next_message(self, message, state):
        self._texts += 1
        texts = {1: "Hello, I need your help.", 2: "I already said what I need."}
        return _user(content=texts.get(self._texts, STOP)), state


class TellingUser(UserSimulator):
    """Says what its instructions have, a part for each text of the agent, agrees twice, and leaves."""

    AGREES = ("Yes, please do that.", "Yes, I confirm.")

    def __init__(self, task):
        super().__init__(instructions="", llm="script")
        told = task.user_scenario.instructions
        parts = [told] if isinstance(told, str) else [told.reason_for_call, told.known_info, told.task_instructions]
        self._texts = [*[in_first_person(part) for part in parts if re.search(r"\w", part or "")], *self.AGREES]

    def generate_next_message(self, message, state):
        return _user(content=self._texts.pop(0) if self._texts else STOP), state


# How an instruction names its reader, and how that person says it.
_SAID = (
    (r"\byou are\b", "I am"),
    (r"\byou were\b", "I was"),
    (r"\byou're\b", "I'm"),
    (r"\byourself\b", "myself"),
    (r"\byour\b", "my"),
    (r"\b(to|with|for|of|by|from|allows?|causes?|caused|gives?|tells?|told|asks?|asked|lets?) you\b", r"\1 me"),
    (r"\byou\b", "I"),
)


def in_first_person(instruction):
    """An instruction as its reader would say it, in one line."""
    said = " ".join(instruction.split())
    for pattern, words in _SAID:
        said = re.sub(pattern, words, said, flags=re.IGNORECASE)
    return said


SCRIPTED_USERS = {"gold": GoldUser, "leaves": LeavingUser, "tells": TellingUser}


def _user(**parts):
    return UserMessage(role="user", cost=0.0, **parts)
