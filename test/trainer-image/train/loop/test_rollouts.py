"""Tier: integration. What becomes of a completion in a rollout: calls, ends of a turn, calls that cannot be sent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from fixtures.call_forms import hermes
from fixtures.families import FAMILIES, HERMES_CALL, make_checkpoint
from fixtures.steps import open_rollouts
from fixtures.trainer import FIXTURES
from tokenizers import Tokenizer
from transformers import LlamaConfig
from whetstone.chat import ToolCall
from whetstone.sampling import Sample
from whetstone.train.loop.episode import Episode
from whetstone.train.loop.rollouts import EnvironmentFailed, Rollouts, sent_calls

# Answers with a second turn, so that a rollout has a bridge.
PATIENT = (FIXTURES / "lever_box.py").read_text().replace('"done": True', '"done": self.pulled()')
PATIENT += """
    def pulled(self):
        self.pulls = getattr(self, 'pulls', 0) + 1
        return self.pulls > 1
"""


@pytest.fixture(scope="module")
def qwen_like(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama that writes as Qwen2.5 does: its end of a turn is not the lowest of its end tokens."""
    family = dataclasses.replace(FAMILIES["qwen2.5"], config=LlamaConfig)
    return make_checkpoint(family, tmp_path_factory.mktemp("qwen-like"))


def play(rollouts: Rollouts, model: Path, text: str, collect: Callable | None = None) -> list[Episode]:
    """An iteration, or the episodes of `collect`, in which every completion is `text`."""
    tokens = Tokenizer.from_file(str(model / "tokenizer.json")).encode(text, add_special_tokens=False).ids

    rollouts._sampler.sample = lambda requests: [Sample(list(tokens), None, "stop") for _ in requests]
    return collect() if collect else rollouts.collect(0).episodes


def test_a_call_reaches_the_environment_whatever_end_its_turn_has(qwen_like: Path, tmp_path: Path) -> None:
    box = tmp_path / "patient.py"
    box.write_text(PATIENT)
    with open_rollouts(qwen_like, tmp_path, [box]) as rollouts:
        episodes = play(rollouts, qwen_like, f"{HERMES_CALL}<|im_end|>")
    assert {episode.turns for episode in episodes} == {2}
    assert {episode.reward for episode in episodes} <= {0.0, 1.0}
    assert 1.0 in {episode.reward for episode in episodes}
    decode = Tokenizer.from_file(str(qwen_like / "tokenizer.json")).decode
    text = decode(episodes[0].ids[episodes[0].prompt :], skip_special_tokens=False)
    answer = "\n<|im_start|>user\n<tool_response>\nclunk\n</tool_response><|im_end|>\n<|im_start|>assistant\n"
    assert text == f"{HERMES_CALL}<|im_end|>{answer}{HERMES_CALL}<|im_end|>"


def longest_tokenized(rollouts: Rollouts) -> list[int]:
    """Characters of the texts that the tokenizer is given from now on."""
    chat, lengths = rollouts._renderer.chat, [0]
    encode = chat.encode

    def counted(text: str) -> list[int]:
        lengths.append(len(text))
        return encode(text)

    chat.encode = counted
    return lengths


def test_an_opening_that_cannot_fit_is_refused_by_name_before_it_is_tokenized(tiny_dir: Path, tmp_path: Path) -> None:
    box = tmp_path / "wordy.py"
    source = (FIXTURES / "lever_box.py").read_text()
    box.write_text(
        source + "\n    def reset(self, seed):\n        return [{'role': 'user', 'content': 'a' * 60_000}]\n"
    )
    with open_rollouts(tiny_dir, tmp_path, [box]) as rollouts:
        name, lengths = rollouts._environments[0].name, longest_tokenized(rollouts)
        with pytest.raises(EnvironmentFailed, match=rf"opening of environment {name} for seed \d+ is too long"):
            rollouts.collect(0)
    assert max(lengths) < 60_000


def test_an_observation_that_cannot_fit_ends_its_rollout_before_it_is_tokenized(tiny_dir: Path, tmp_path: Path) -> None:
    box = tmp_path / "wordy.py"
    box.write_text(PATIENT.replace('"clunk"', '"a" * 60_000'))
    call = '<tool_call>{"name":"pull","arguments":{"lever":"left"}}</tool_call><|im_end|>'
    with open_rollouts(tiny_dir, tmp_path, [box]) as rollouts:
        lengths = longest_tokenized(rollouts)
        episodes = play(rollouts, tiny_dir, call)
    assert {(episode.turns, episode.truncated, episode.raised) for episode in episodes} == {(1, True, None)}
    assert max(lengths) < 60_000


def test_a_call_with_nan_does_not_end_the_training(tiny_dir: Path, tmp_path: Path) -> None:
    call = '<tool_call>{"name":"pull","arguments":{"lever":NaN}}</tool_call><|im_end|>'
    with open_rollouts(tiny_dir, tmp_path, [FIXTURES / "lever_box.py"]) as rollouts:
        episodes = play(rollouts, tiny_dir, call)
    assert [(episode.raised, episode.reward) for episode in episodes] == [(None, 0.0)] * len(episodes)


def test_a_call_whose_arguments_are_no_object_is_answered_as_in_collection(qwen_like: Path, tmp_path: Path) -> None:
    box = tmp_path / "patient.py"
    box.write_text(PATIENT)
    bad, error = hermes(arguments='"left"'), "Error: the arguments of pull are not a JSON object."
    decode = Tokenizer.from_file(str(qwen_like / "tokenizer.json")).decode
    for text, answers in ((bad, [error]), (bad + hermes() + bad, [error, "clunk", error])):
        with open_rollouts(qwen_like, tmp_path, [box]) as rollouts:
            episodes = play(rollouts, qwen_like, f"{text}<|im_end|>")
        read = decode(episodes[0].ids[episodes[0].prompt :], skip_special_tokens=False)
        assert read.count(error) == answers.count(error) * (episodes[0].turns - 1)
        first = read.split("<|im_start|>assistant")[0]
        assert [one.split("\n</tool_response>")[0] for one in first.split("<tool_response>\n")[1:]] == answers
        # The environment did not see those calls.
        assert {episode.raised for episode in episodes} == {None}
        assert {episode.failed_calls for episode in episodes} == {0}


def test_more_calls_than_an_environment_takes_are_cut_as_in_collection() -> None:
    calls = tuple(ToolCall("p" * 300, "{}") for _ in range(70))
    sent, refused = sent_calls(calls)
    assert (len(sent), len(sent[0]["name"]), refused) == (64, 200, {})
    sent, _ = sent_calls((ToolCall("p" * 199 + "\U0001f469\u200d\U0001f467", "{}"),))
    assert sent[0]["name"] == "p" * 199


@pytest.mark.parametrize("arguments", ['{"lever":"left"}', '"left"'])
def test_a_name_with_half_of_a_surrogate_pair_does_not_end_the_training(
    arguments: str, qwen_like: Path, tmp_path: Path
) -> None:
    box = tmp_path / "patient.py"
    box.write_text(PATIENT)
    with open_rollouts(qwen_like, tmp_path, [box]) as rollouts:
        episodes = play(rollouts, qwen_like, hermes("pu\\ud800ll", arguments) + "<|im_end|>")
    assert {episode.turns > 1 for episode in episodes} == {True}


def test_a_tool_that_a_probe_invents_is_answered_as_in_collection(qwen_like: Path, tmp_path: Path) -> None:
    """The environment raises for it. A probe's episode goes on; a training's ends."""
    call = hermes(arguments='{"lever": "broken"}').replace('"pull"', '"shove"')
    with open_rollouts(qwen_like, tmp_path, [FIXTURES / "lever_box.py"]) as rollouts:
        probed = play(rollouts, qwen_like, f"{call}<|im_end|>", lambda: rollouts.play_tasks([(1, 1)]))
    decode = Tokenizer.from_file(str(qwen_like / "tokenizer.json")).decode
    assert probed[0].raised is None
    assert "Error: there is no tool named shove." in decode(probed[0].ids, skip_special_tokens=False)
    with open_rollouts(qwen_like, tmp_path, [FIXTURES / "lever_box.py"]) as rollouts:
        with pytest.raises(EnvironmentFailed, match="it came off"):
            play(rollouts, qwen_like, f"{call}<|im_end|>")
