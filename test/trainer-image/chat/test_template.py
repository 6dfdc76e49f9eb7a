"""Tier: unit. Rendering and encoding of conversations against transformers."""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer
from whetstone.chat import Chat, RawJson

CALL = '<tool_call>{"name":"get_item","arguments":{"item": "7"}}</tool_call>'
HISTORY = [
    {"role": "user", "content": "put item 7 on shelf b please"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "get_item", "arguments": '{"item": "7"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "x", "content": '{"shelf":"b"}'},
]


def test_rendering_and_pieces_equal_transformers(tiny_dir: Path) -> None:
    chat, tokenizer = Chat(tiny_dir), AutoTokenizer.from_pretrained(tiny_dir)
    expected = tokenizer.apply_chat_template(HISTORY, add_generation_prompt=True, tokenize=False)
    assert chat.render(HISTORY, None) == expected
    for text in (
        expected,
        f"{CALL}<|im_end|>\n<|im_start|>tool\nx<|im_end|>",
        "<|im_start|>",
        "",
        "x<|im_start|><|im_start|>\n",
    ):
        assert chat.encode(text) == tokenizer.encode(text, add_special_tokens=False)
    raw = [{**HISTORY[1], "tool_calls": [{"function": {"name": "f", "arguments": RawJson('{"a":  1}')}}]}]
    assert '"arguments":{"a":  1}' in chat.render(raw, None)
