"""tau2's gold actions: as moves of the agent, as a scripted user, and the states to which they lead."""

import threading
from itertools import groupby

from tau2.data_model.message import MultiToolMessage, ToolCall, ToolMessage, UserMessage
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
from tau2.registry import registry
from tau2.user.base import STOP
from tau2.user.user_simulator import UserSimulator


def _gold_turns(task):
    """The gold actions in runs of one side: (requestor, actions)."""
    actions = task.evaluation_criteria.actions or []
    return [(side, list(run)) for side, run in groupby(actions, key=lambda action: action.requestor)]


def gold_moves(task):
    """What the agent does with a GoldUser to earn reward 1: calls and texts."""
    moves = []
    for side, actions in _gold_turns(task):
        if side == "user":
            moves.append({"text": "Please do that now."})
        else:
            moves += [{"name": action.name, "arguments": action.arguments} for action in actions]
    return [*moves, {"text": " ".join(task.evaluation_criteria.communicate_info or []) or "That is all."}]


class GoldUser(UserSimulator):
    """Plays the user's gold actions, a run of them for each text of the agent, and leaves at the next text."""

    def __init__(self, task):
        super().__init__(instructions="", llm="script")
        self._turns = [actions for side, actions in _gold_turns(task) if side == "user"]
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


SCRIPTED_USERS = {"gold": GoldUser, "leaves": LeavingUser}


def _user(**parts):
    return UserMessage(role="user", cost=0.0, **parts)


class GoldStates:
    """Evaluates as tau2 does, with the hashes of each task's gold state computed once: they are half of the time."""

    def __init__(self, domain):
        self._make = registry.get_env_constructor(domain)
        self._hashes, self._current = {}, threading.local()
        self._domain = f"{domain} with gold states kept"
        registry.register_domain(self._state, self._domain)

    def evaluate(self, task, run):
        """tau2's RewardInfo of a finished run."""
        self._current.task = task.id
        return evaluate_simulation(run, task, EvaluationType.ALL, False, self._domain)

    def _state(self, **options):
        # The evaluator gives options for the state that was played, and none for the gold one.
        return self._make(**options) if options else _GoldState(self._make, self._hashes, self._current.task)


class _GoldState:
    """The state after the gold actions; without a state if its hashes are known."""

    def __init__(self, make, hashes, task):
        self._hashes, self._task, self._known = hashes, task, hashes.get(task)
        self._state = None if self._known else make()

    def set_state(self, **start):
        if self._state is not None:
            self._state.set_state(**start)

    def make_tool_call(self, **call):
        return None if self._state is None else self._state.make_tool_call(**call)

    def get_db_hash(self):
        return self._both()[0]

    def get_user_db_hash(self):
        return self._both()[1]

    def _both(self):
        if self._known is None:
            self._known = (self._state.get_db_hash(), self._state.get_user_db_hash())
            self._hashes[self._task] = self._known
        return self._known
