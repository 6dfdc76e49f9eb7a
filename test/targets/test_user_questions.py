"""Unit: how presets ask their simulated user again, by a clock of the test."""

import sys
from types import SimpleNamespace

import pytest
from driver import ROOT

sys.path.insert(0, str(ROOT / "targets"))

from whetstone_process import TaskFailed  # noqa: E402
from whetstone_process.presets import user_questions  # noqa: E402


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1000.0)

    def sleep(seconds):
        clock.now += seconds

    monkeypatch.setattr(user_questions, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    return clock


def failure_of(clock, problem="no answer", key=user_questions.NO_KEY, seconds_per_try=60.0, step_seconds=120.0):
    """The words of the failure of a user who never answers."""
    questions = user_questions.UserQuestions(step_seconds, key)

    def answer():
        clock.now += min(seconds_per_try, questions.seconds())
        raise TimeoutError(problem)

    with pytest.raises(TaskFailed) as failed:
        questions.ask(answer)
    return str(failed.value)


@pytest.mark.parametrize("step_seconds", [30.0, 120.0, 600.0])
def test_all_tries_together_end_before_the_deadline_of_the_step(clock, step_seconds):
    assert failure_of(clock, step_seconds=step_seconds) == "TimeoutError: no answer"
    assert clock.now - 1000.0 < step_seconds


def test_without_a_key_no_word_is_hidden_and_a_key_always_is(clock):
    assert failure_of(clock, "none of them", seconds_per_try=0) == "TimeoutError: none of them"
    assert failure_of(clock, "bad sk-1", "sk-1", 0) == "TimeoutError: bad ***"


def test_an_answer_after_a_failure_counts_and_a_failed_task_is_not_asked_again(clock):
    questions, outcomes = user_questions.UserQuestions(120.0, "sk-1"), [ValueError("busy"), None]

    def answer():
        problem = outcomes.pop(0)
        if problem is not None:
            raise problem
        return "yes"

    assert questions.ask(answer) == "yes"
    outcomes[:] = [TaskFailed("dropped"), None]
    with pytest.raises(TaskFailed, match="dropped"):
        questions.ask(answer)
    assert outcomes == [None]


def test_every_step_has_its_own_deadline(clock):
    questions = user_questions.UserQuestions(30.0, "sk-1")
    clock.now += 24.5
    assert questions.seconds() == 1.0
    questions.begin_step()
    assert questions.seconds() == 25.0
