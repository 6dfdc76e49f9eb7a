"""Tier: unit. Rendering and encoding of conversations against transformers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
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


TOOLS = [{"type": "function", "function": {"name": "get_item", "parameters": {"type": "object", "properties": {}}}}]
WITH_TOOLS = "<tool_call>{{ tools | tojson }}{% for message in messages %}{{ message.content }}{% endfor %}"
PLAIN = "{% for message in messages %}{{ message.content }}{% endfor %}"


@pytest.mark.parametrize("place", ["config", "folder", "config beside a file"])
def test_a_template_for_tools_is_taken_as_in_transformers(tiny_dir: Path, tmp_path: Path, place: str) -> None:
    directory = tmp_path / "model"
    shutil.copytree(tiny_dir, directory)
    file, config = directory / "chat_template.jinja", directory / "tokenizer_config.json"
    if place != "folder":
        file.unlink(missing_ok=True)
        named = [{"name": "default", "template": PLAIN}, {"name": "tool_use", "template": WITH_TOOLS}]
        config.write_text(json.dumps({**json.loads(config.read_text()), "chat_template": named}))
    if place != "config":
        file.write_text(PLAIN)
    if place == "folder":
        (directory / "additional_chat_templates").mkdir()
        (directory / "additional_chat_templates" / "tool_use.jinja").write_text(WITH_TOOLS)
    chat, tokenizer = Chat(directory), AutoTokenizer.from_pretrained(directory)
    for tools in (TOOLS, None):
        expected = tokenizer.apply_chat_template(HISTORY[:1], tools=tools, add_generation_prompt=True, tokenize=False)
        assert chat.render(HISTORY[:1], tools) == expected
    assert ("<tool_call>" in chat.source) == (place != "config beside a file")
