"""Similarities by ToolSandbox's own `Scenario.play` and evaluation: of an agent that does what the milestones of a
scenario name, as far as they name it, and of one that does nothing. Runs with the Python of a virtual environment that
has what ToolSandbox needs, and with its clone on the PYTHONPATH.

    own_similarities.py    prints a line for each base scenario without network: {"task", "moves", "script", "nothing"}
"""

import json
import random
import sys

from tool_sandbox.common.execution_context import RoleType, ScenarioCategories, get_current_context
from tool_sandbox.common.message_conversion import Message
from tool_sandbox.common.tool_discovery import ToolBackend
from tool_sandbox.roles.base_role import BaseRole
from tool_sandbox.roles.execution_environment import ExecutionEnvironment
from tool_sandbox.scenarios import named_scenarios

NETWORK = ("convert_currency", "search_lat_lon", "search_location_around_lat_lon", "search_stock")
NETWORK = {*NETWORK, "search_weather_around_lat_lon"}
SWITCHES = {
    "cellular": "set_cellular_service_status",
    "wifi": "set_wifi_status",
    "location_service": "set_location_service_status",
    "low_battery_mode": "set_low_battery_mode_status",
}
CHANGES = {
    ("CONTACT", "addition_similarity"): "add_contact",
    ("CONTACT", "update_similarity"): "modify_contact",
    ("CONTACT", "removal_similarity"): "remove_contact",
    ("REMINDER", "addition_similarity"): "add_reminder",
    ("REMINDER", "update_similarity"): "modify_reminder",
    ("REMINDER", "removal_similarity"): "remove_reminder",
    ("MESSAGING", "addition_similarity"): "send_message_with_phone_number",
}
ARGUMENTS = {"recipient_phone_number": "phone_number"}
NOTHING = [{"text": "Anything else?"}]


class ScriptedAgent(BaseRole):
    """Plays moves, then says the last text again and again."""

    role_type = RoleType.AGENT

    def __init__(self, moves):
        self._moves, self._played = moves, 0

    def respond(self, ending_index=None):
        move = self._moves[min(self._played, len(self._moves) - 1)]
        self._played += 1
        if "text" in move:
            self.add_messages([Message(sender=RoleType.AGENT, recipient=RoleType.USER, content=move["text"])])
            return
        name, call = move["name"], f"call_{self._played}"
        code = f"{call}_parameters = {move['arguments']}\n{call}_response = {name}(**{call}_parameters)\n"
        message = Message(
            sender=RoleType.AGENT,
            recipient=RoleType.EXECUTION_ENVIRONMENT,
            content=f"{code}print(repr({call}_response))",
            openai_tool_call_id=call,
            openai_function_name=name,
        )
        self.add_messages([message])


class ScriptedUser(BaseRole):
    """Asks the agent to go on, and leaves at its second text."""

    role_type = RoleType.USER

    def __init__(self):
        self._is_asked = False

    def respond(self, ending_index=None):
        recipient, content = RoleType.AGENT, "Please go on."
        if self._is_asked:
            recipient, content = RoleType.EXECUTION_ENVIRONMENT, "print(repr(end_conversation()))"
        self._is_asked = True
        self.add_messages([Message(sender=RoleType.USER, recipient=recipient, content=content)])


def moves_of(scenario):
    """Calls and texts that the milestones name, those of tools that the scenario offers."""
    moves = []
    for milestone in scenario.evaluation.milestone_matcher.milestones:
        for constraint in milestone.snapshot_constraints:
            if constraint.target_dataframe is not None:
                measure = getattr(constraint.snapshot_constraint, "__name__", "")
                for row in constraint.target_dataframe.to_dicts():
                    moves += moves_of_row(str(constraint.database_namespace), measure, row)
    offered = scenario.starting_context.get_available_tools(scrambling_allowed=False)
    moves = [move for move in moves if "text" in move or move["name"] in offered]
    return moves if moves and "text" in moves[-1] else [*moves, {"text": "That is done."}]


def moves_of_row(database, measure, row):
    if row.get("tool_trace"):
        trace = json.loads(row["tool_trace"])
        trace = trace[0] if isinstance(trace, list) else trace
        return [{"name": trace["tool_name"], "arguments": trace["arguments"]}]
    if database == "SANDBOX":
        is_said = row.get("sender") == RoleType.AGENT and row.get("content")
        return [{"text": row["content"]}] if is_said else []
    if database == "SETTING":
        return [{"name": SWITCHES[name], "arguments": {"on": row[name]}} for name in row if name in SWITCHES]
    name = CHANGES.get((database, measure))
    given = {ARGUMENTS.get(column, column): value for column, value in row.items() if value is not None}
    return [] if name is None else [{"name": name, "arguments": given}]


def similarity(name, scenario, moves):
    roles = {
        RoleType.AGENT: ScriptedAgent(moves),
        RoleType.USER: ScriptedUser(),
        RoleType.EXECUTION_ENVIRONMENT: ExecutionEnvironment(),
    }
    scenario.play(roles=roles, scenario_name=name)
    return scenario.evaluation.evaluate(
        execution_context=get_current_context(), max_turn_count=scenario.max_messages
    ).similarity


def main():
    random.seed(0)
    out, sys.stdout = sys.stdout, sys.stderr
    for name, scenario in named_scenarios(preferred_tool_backend=ToolBackend.DEFAULT).items():
        is_base = ScenarioCategories.NO_DISTRACTION_TOOLS in scenario.categories
        if not is_base or NETWORK & set(scenario.starting_context.get_available_tools(scrambling_allowed=False)):
            continue
        moves = moves_of(scenario)
        found = {"script": similarity(name, scenario, moves), "nothing": similarity(name, scenario, NOTHING)}
        print(json.dumps({"task": name, "moves": moves, **found}), file=out, flush=True)


main()
