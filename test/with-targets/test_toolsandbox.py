"""With what ToolSandbox needs (WHET_TEST_TOOLSANDBOX names its Python) and its clone (CLONE): the preset."""

import os

import pytest
from driver import ROOT, Driver
from user_model import UserModel

PYTHON, CLONE = os.environ["WHET_TEST_TOOLSANDBOX"], os.environ["CLONE"]
TURN_OFF = [{"name": "set_cellular_service_status", "arguments": {"on": False}}]


def toolsandbox(*words, **variables):
    path = os.pathsep.join([str(ROOT / "targets"), os.path.abspath(CLONE)])
    command = ("-m", "whetstone_process.presets.toolsandbox", *words)
    return Driver(*command, python=PYTHON, variables={**variables, "PYTHONPATH": path})


@pytest.fixture(scope="module")
def scripted():
    driver = toolsandbox("--user-script", "leaves")
    yield driver
    driver.close()


def test_names_the_scenarios_without_network_and_no_group_is_in_two_splits(scripted):
    tasks = scripted.ask("tasks")["tasks"]
    assert len(tasks) == 515
    splits = {}
    for task in tasks:
        splits.setdefault(task["group"], set()).add(task["split"])
    assert all(len(of_group) == 1 for of_group in splits.values())
    assert set.union(*splits.values()) == {"train", "test"}
    of_one = {task["group"] for task in tasks if task["id"].startswith("turn_on_wifi")}
    assert of_one == {"turn_on_wifi"}


def test_its_packages_name_the_content_of_the_clone(scripted):
    packages = scripted.ask("hello", apiVersion=2)["packages"].split()
    assert "polars==0.20.31" in packages
    assert packages[-1].startswith("tool_sandbox@sha256:")


def test_each_episode_has_the_tools_of_its_scenario(scripted):
    def names(task):
        tools = scripted.ask("reset", episode=task, seed=0, task=task)["tools"]
        scripted.ask("drop", episode=task)
        return {tool["function"]["name"] for tool in tools}

    assert names("cellular_off") == {"set_cellular_service_status"}
    scrambled = names("cellular_off_3_distraction_tools_tool_name_scrambled")
    assert len(scrambled) == 4
    assert all(name.startswith("setting_") for name in scrambled)


def test_a_perfect_episode_earns_1_and_half_of_the_milestones_half(scripted):
    for text, reward in (("Cellular service is turned off", 1.0), ("", 0.5)):
        opening = scripted.ask("reset", episode="e", seed=0, task="cellular_off")
        assert [message["role"] for message in opening["messages"]] == ["system", "user"]
        assert scripted.ask("step", episode="e", calls=TURN_OFF) == {"observations": ["None"], "done": False}
        assert scripted.ask("step", episode="e", text=text)["observations"] == ["Please go on."]
        assert scripted.ask("step", episode="e", text=text) == {"observations": [""], "done": True}
        evaluated = scripted.ask("evaluate", episode="e")
        assert (evaluated["reward"], evaluated["parts"]) == (reward, {"milestones": reward, "minefields": 0.0})


def test_wrong_calls_are_told_to_the_agent(scripted):
    scripted.ask("reset", episode="e", seed=0, task="cellular_off")
    wrong = [{"name": "get_wifi_status", "arguments": {}}, {"name": TURN_OFF[0]["name"], "arguments": {"off": 1}}]
    unknown, misused = scripted.ask("step", episode="e", calls=wrong)["observations"]
    assert unknown == "Error: there is no tool named get_wifi_status."
    assert misused.startswith("TypeError: ")
    many = scripted.ask("step", episode="e", calls=TURN_OFF * 6)["observations"]
    assert many == ["Error: make at most 5 calls at once."] * 6
    scripted.ask("drop", episode="e")


def test_an_episode_begins_from_its_scenario_whatever_was_played_before(scripted):
    scripted.ask("reset", episode="first", seed=0, task="get_cellular")
    scripted.ask("drop", episode="first")
    scripted.ask("reset", episode="off", seed=0, task="cellular_off")
    scripted.ask("step", episode="off", calls=TURN_OFF)
    scripted.ask("drop", episode="off")
    scripted.ask("reset", episode="second", seed=0, task="get_cellular")
    look = [{"name": "get_cellular_service_status", "arguments": {}}]
    assert scripted.ask("step", episode="second", calls=look)["observations"] == ["True"]
    scripted.ask("drop", episode="second")


def test_thirty_messages_end_a_conversation(scripted):
    scripted.ask("reset", episode="e", seed=0, task="cellular_off")
    turns = 1
    while not scripted.ask("step", episode="e", calls=TURN_OFF)["done"]:
        turns += 1
    assert turns == 15
    assert scripted.ask("evaluate", episode="e")["reward"] == 0.5


def test_a_model_plays_the_user_and_ends_the_conversation():
    server = UserModel(["Which one?", 503, ["no_such_tool"], ["end_conversation"]])
    words = ["--user-url", server.url, "--user-model", "user", "--user-key-variable", "USER_KEY"]
    driver = toolsandbox("--scenarios", "base", *words, USER_KEY="sk-user")
    assert driver.ask("hello", apiVersion=2)["facts"]["costsTokens"] is True
    assert len(driver.ask("tasks")["tasks"]) == 95
    driver.ask("reset", episode="e", seed=5, task="cellular_off")
    assert driver.ask("step", episode="e", text="Off?") == {"observations": ["Which one?"], "done": False}
    # Asked three times: status 503, a tool that there is not, and the end.
    assert driver.ask("step", episode="e", text="The phone.") == {"observations": [""], "done": True}
    assert [request["messages"][-1]["content"] for request in server.requests] == ["Off?"] + ["The phone."] * 3
    assert {(request["seed"], request["key"]) for request in server.requests} == {(5, "Bearer sk-user")}
    assert driver.ask("evaluate", episode="e")["usage"] == {"promptTokens": 33, "completionTokens": 6}
    driver.ask("reset", episode="failing", seed=5, task="cellular_off")
    error = driver.ask("step", episode="failing", text="Off?")
    assert (error["type"], error["cause"]) == ("TaskFailed", "simulator")
    driver.close()


def test_a_server_that_does_not_say_what_it_spent_ends_no_episode():
    unknown = {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}
    server = UserModel(["Which one?"], usage=unknown)
    driver = toolsandbox("--scenarios", "base", "--user-url", server.url, "--user-model", "user")
    driver.ask("reset", episode="e", seed=5, task="cellular_off")
    assert driver.ask("step", episode="e", text="Off?") == {"observations": ["Which one?"], "done": False}
    assert len(server.requests) == 1
    assert driver.ask("evaluate", episode="e")["usage"] == {"promptTokens": 0, "completionTokens": 0}
    driver.close()
