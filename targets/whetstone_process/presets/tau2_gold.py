"""tau2's gold actions: as moves of the agent, by side, and the states to which they lead."""

import threading
from itertools import groupby

from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
from tau2.registry import registry


def gold_turns(task):
    """The gold actions in runs of one side: (requestor, actions)."""
    actions = task.evaluation_criteria.actions or []
    return [(side, list(run)) for side, run in groupby(actions, key=lambda action: action.requestor)]


def gold_moves(task):
    """What the agent does with a GoldUser to earn reward 1: calls and texts."""
    moves = []
    for side, actions in gold_turns(task):
        if side == "user":
            moves.append({"text": "Please do that now."})
        else:
            moves += [{"name": action.name, "arguments": action.arguments} for action in actions]
    return [*moves, {"text": " ".join(task.evaluation_criteria.communicate_info or []) or "That is all."}]


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
