"""Tier: unit. Tool calls in generated text: what counts as one, and which bytes its arguments have."""

from __future__ import annotations

import pytest
from whetstone.chat import ToolCall, parse_completion

CALL = '<tool_call>{"name":"get_item","arguments":{"item": "7"}}</tool_call>'


def test_tool_calls_keep_their_bytes() -> None:
    assert parse_completion(CALL) == (None, [ToolCall("get_item", '{"item": "7"}')])
    assert parse_completion(f"let me see\n{CALL}\n{CALL}") == (
        "let me see",
        [ToolCall("get_item", '{"item": "7"}')] * 2,
    )
    swapped = '<tool_call>\n{"arguments": {}, "name": "x"}\n</tool_call>'
    assert parse_completion(swapped) == (None, [ToolCall("x", "{}")])


@pytest.mark.parametrize("given", ["null", '""'])
def test_null_and_empty_text_are_no_arguments(given: str) -> None:
    text = f'<tool_call>{{"name":"x","arguments":{given}}}</tool_call>'
    assert parse_completion(text) == (None, [ToolCall("x", "{}")])


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "<tool_call>",
        "<tool_call>{}</tool_call>",
        '<tool_call>{"name":"x"}</tool_call>',
        '<tool_call>{"name":"x","arguments":"y"}</tool_call>',
        '<tool_call>{"name":"x","arguments":{}}</tool_call> and more',
        '<tool_call>{"name":"x","arguments":{},}</tool_call>',
        '<tool_call>{"name":"x","arguments":{}} trailing</tool_call>',
        f"{CALL}<tool_call>broken</tool_call>",
    ],
)
def test_anything_else_is_content(text: str) -> None:
    assert parse_completion(text) == (text, [])
