"""Tier: unit. Tool calls in generated text: every form of every family, as vLLM's parser reads it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixtures.call_forms import FORMS, Row, hermes
from fixtures.families import FAMILIES, save_tokenizer
from whetstone.chat import ToolCall
from whetstone.chat.dialects import plain_dialect_of
from whetstone.chat.renderer import Renderer
from whetstone.chat.tool_calls import (
    call_arguments,
    read_harmony,
    read_hermes,
    read_lfm2,
    read_llama3,
    read_mistral_list,
    read_mistral_names,
)
from whetstone.engine import ModelError

CALLING = [name for name, family in FAMILIES.items() if family.call]
READERS = [read_hermes, read_llama3, read_mistral_list, read_mistral_names, read_lfm2, read_harmony]
MARKS = ["<tool_call>", "[TOOL_CALLS]", "<|tool_call_start|>", "<|channel|>commentary to=<|message|>", "{"]
ROWS = [(family, row) for family, rows in FORMS.items() for row in rows]


def found(calls: list[ToolCall]) -> list[tuple[str, dict | None]]:
    return [(call.name, call_arguments(call.arguments)) for call in calls]


@pytest.mark.parametrize(("family", "row"), ROWS, ids=[f"{family}: {row[0]}" for family, row in ROWS])
def test_a_reply_has_the_calls_that_vllm_finds(family: str, row: Row) -> None:
    _, text, expected = row
    if family == "gpt-oss":
        calls = read_harmony(text)[2]
    else:
        template = next(one.template for one in FAMILIES.values() if one.call and form_of(one.template) == family)
        content, calls = plain_dialect_of(template, None).read(text)
        assert calls or content == text
    assert found(calls) == expected


def form_of(template: str) -> str | None:
    try:
        return plain_dialect_of(template, None).name
    except ModelError:
        return None


@pytest.fixture(scope="module")
def renderers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Renderer]:
    made = {}
    for name in CALLING:
        directory = tmp_path_factory.mktemp(name)
        save_tokenizer(FAMILIES[name], directory)
        made[name] = Renderer(directory)
    return made


@pytest.mark.parametrize("name", CALLING)
def test_the_trainer_finds_them_in_tokens(name: str, renderers: dict) -> None:
    renderer, family = renderers[name], FAMILIES[name]
    prompt = renderer.prompt([{"role": "user", "content": "left!"}], None)
    for form, text, expected in FORMS[renderer.dialect.name]:
        end = renderer.chat.encode(family.end)
        # A reply that is cut at the limit of tokens is read as well, as vLLM does.
        for closing in (end, []):
            reply = renderer.read(prompt, [*renderer.chat.encode(text), *closing], None)
            assert found(list(reply.calls)) == expected, form


def test_arguments_keep_their_bytes() -> None:
    call = '<tool_call>{"name":"get_item","arguments":{"item": "7"}}</tool_call>'
    assert read_hermes(f"let me see\n{call}\n{call}") == ("let me see", [ToolCall("get_item", '{"item": "7"}')] * 2)
    assert read_hermes(hermes(arguments="{}")) == (None, [ToolCall("pull", "{}")])


def test_later_models_of_mistral_name_each_call() -> None:
    one, two = '[TOOL_CALLS]pull[ARGS]{"lever": "left"}', '[TOOL_CALLS]pull[CALL_ID]abcdefghi[ARGS]{"lever": "right"}'
    left, right = ToolCall("pull", '{"lever": "left"}'), ToolCall("pull", '{"lever": "right"}', "abcdefghi")
    assert read_mistral_names(f"I pull.{one}{two} Done.") == ("I pull.", [left, right])
    assert read_mistral_names(one.replace("[ARGS]", "")) == (None, [left])
    assert read_mistral_names("I pull.") == ("I pull.", [])


LINES = "\n" * 100_000


@pytest.mark.parametrize("reader", READERS, ids=[reader.__name__ for reader in READERS])
@pytest.mark.parametrize("mark", ["", *MARKS])
def test_no_long_run_holds_a_reader_up(mark: str, reader: Callable[[str], tuple]) -> None:
    quotes = (f"[{pair * 50_000}]" for pair in ("\\'", "'\\", '\\"', '"\\'))
    for text in (LINES, f"[{LINES}", f"pull{LINES}[CALL_ID]a{LINES}", *quotes):
        assert reader(mark + text)[-1] == []


@pytest.mark.parametrize("text", ["<function=", "<tool_call>pull\n<arg_key>", "<|tool_call>", "<|channel|>commentary"])
def test_a_family_that_only_transformers_can_read_is_refused_by_the_policy_server(text: str) -> None:
    with pytest.raises(ModelError, match="does not read the tool calls .*: set model.server to vllm"):
        plain_dialect_of(text, None)
    with pytest.raises(ModelError, match="a response_template of its own"):
        plain_dialect_of("", {"fields": {}})


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        (" null ", {}),
        ('{"a": "\\ud800b"}', {"a": "\ufffdb"}),
        ('{"\\udc00": 1}', {"\ufffd": 1}),
        ('{"a": 1e999}', None),
        ('{"a": -Infinity}', None),
        ('{"a": ' + "[" * 46 + "]" * 46 + "}", {"a": eval("[" * 46 + "]" * 46)}),
        ('{"a": ' + "[" * 60 + "]" * 60 + "}", None),
        ('{"a": ' + "[" * 100_000, None),
        ('{"a": 1} ', {"a": 1}),
        ('{"a": 1} more', None),
    ],
)
def test_arguments_are_an_object_or_none(text: str, arguments: dict | None) -> None:
    assert call_arguments(text) == arguments
