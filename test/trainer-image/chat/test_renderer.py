"""Tier: unit. Prompts, replies and bridges of nine model families, against transformers' own rendering."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.families import FAMILIES, HERMES_CALL, Family, save_tokenizer
from transformers import AutoTokenizer
from whetstone.chat import ToolCall
from whetstone.chat.renderer import Renderer
from whetstone.engine import ModelError

LEVER = {"type": "object", "properties": {"lever": {"type": "string"}}, "required": ["lever"]}
TOOLS = [{"type": "function", "function": {"name": "pull", "description": "Pulls.", "parameters": LEVER}}]
OPENING = [{"role": "user", "content": "left!"}]
CALLING = [name for name, family in FAMILIES.items() if family.call]
# What the template puts between a call and the next reply.
BRIDGES = {
    "llama-3.2": '<|start_header_id|>ipython<|end_header_id|>\n\n"clunk"<|eot_id|>'
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "qwen2.5": "\n<|im_start|>user\n<tool_response>\nclunk\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    "qwen3": "\n<|im_start|>user\n<tool_response>\nclunk\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    "qwen3-moe": "\n<|im_start|>user\n<tool_response>\nclunk\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    "smollm3": "\n<|im_start|>user\n<tool_response>\nclunk\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    "mistral": '[TOOL_RESULTS] {"content": "clunk", "call_id": "t0003c000"}[/TOOL_RESULTS]',
    "gpt-oss": '<|start|>functions.pull to=assistant<|channel|>commentary<|message|>"clunk"<|end|><|start|>assistant',
    "lfm2": "\n<|im_start|>tool\n<|tool_response_start|>clunk<|tool_response_end|><|im_end|>\n<|im_start|>assistant\n",
}


@pytest.fixture(scope="module")
def renderers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Renderer]:
    made = {}
    for name, family in FAMILIES.items():
        directory = tmp_path_factory.mktemp(name)
        save_tokenizer(family, directory)
        made[name] = Renderer(directory)
    return made


def written(renderer: Renderer, text: str, end: str) -> list[int]:
    """A completion that ends with the token `end`."""
    return [*renderer.chat.encode(text), *renderer.chat.encode(end)]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_prompts_with_tools_are_those_of_transformers(family: Family, renderers: dict, tmp_path: Path) -> None:
    save_tokenizer(family, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    more = {"xml_tools": TOOLS} if family.name == "smollm3" else {}
    expected = tokenizer.apply_chat_template(
        OPENING, tools=TOOLS, add_generation_prompt=True, return_dict=False, **more
    )
    prompt = renderers[family.name].prompt(OPENING, TOOLS)
    assert prompt == expected
    assert ("pull" in renderers[family.name].chat.decode(prompt)) == (family.call is not None)


@pytest.mark.parametrize("name", CALLING)
def test_a_call_is_read_and_bridged_as_the_family_writes_it(name: str, renderers: dict) -> None:
    renderer, family = renderers[name], FAMILIES[name]
    renderer.check_calls()
    prompt = renderer.prompt(OPENING, TOOLS)
    for end in family.ends if name == "qwen3" else [family.end]:
        reply = renderer.read(prompt, written(renderer, family.call, end), TOOLS, turn=3)
        assert [(call.name, call.arguments.replace(" ", ""), call.id) for call in reply.calls] == [
            ("pull", '{"lever":"left"}', "t0003c000")
        ]
        assert (reply.content, reply.closed, reply.begins_call) == ("", True, True)
        assert renderer.chat.decode(renderer.bridge(reply, ["clunk"])) == BRIDGES[name]
    taught = renderer.call_turn("pull", {"lever": "left"})
    assert renderer.chat.decode(taught[-1:]) == family.end
    assert [call.name for call in renderer.read(prompt, taught, TOOLS).calls] == ["pull"]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_taught_text_ends_with_its_own_turn(family: Family, renderers: dict) -> None:
    renderer = renderers[family.name]
    plain = renderer.text_turn("Use it here")
    for mark in (*(text for text in family.plain if text in family.template), *family.ends):
        taught = renderer.text_turn(f"Use {mark} here")
        # Qwen3's template leaves out what is before it.
        said = " here" if mark == "</think>" else f"Use {mark} here"
        assert said in renderer.chat.decode(taught)
        assert (taught[-1], taught.count(plain[-1])) == (plain[-1], plain.count(plain[-1]))
    # Some templates leave white space around a text out.
    assert renderer.text_turn(" \nUse it here\n ").count(plain[-1]) == plain.count(plain[-1])


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_what_was_said_is_content_without_its_end(family: Family, renderers: dict) -> None:
    renderer, prompt = renderers[family.name], renderers[family.name].prompt(OPENING, TOOLS)
    end = family.said_end or family.end
    closed = renderer.read(prompt, written(renderer, "it is done", end), TOOLS)
    assert (closed.content, closed.calls, closed.closed, closed.begins_call) == ("it is done", (), True, False)
    bridge = renderer.chat.decode(renderer.bridge(closed, ["and now"]))
    assert "and now" in bridge
    assert not bridge.startswith(end)
    cut = renderer.read(prompt, renderer.chat.encode("it is do"), TOOLS)
    assert (cut.content, cut.closed) == ("it is do", False)
    assert renderer.chat.decode(renderer.bridge(cut, ["and now"])).endswith(bridge)
    assert renderer.bridge(cut, ["and now"])[0] in renderer.chat.encode(end + "<|end|>")


# A message of gpt-oss counts although it is cut.
@pytest.mark.parametrize("name", [name for name in CALLING if name != "gpt-oss"])
def test_a_call_that_is_cut_is_content(name: str, renderers: dict) -> None:
    renderer, text = renderers[name], FAMILIES[name].call[:-3]
    reply = renderer.read(renderer.prompt(OPENING, TOOLS), renderer.chat.encode(text), TOOLS)
    assert (reply.content, reply.calls, reply.closed, reply.begins_call) == (text, (), False, True)


def test_reasoning_is_not_content(renderers: dict) -> None:
    renderer = renderers["qwen3"]
    prompt = renderer.prompt(OPENING, TOOLS)
    thought = f"<think>\nleft is left\n</think>\n\n{HERMES_CALL}"
    reply = renderer.read(prompt, written(renderer, thought, "<|im_end|>"), TOOLS)
    assert (reply.content, reply.reasoning, [call.name for call in reply.calls]) == ("", "left is left", ["pull"])
    # The template has opened the reasoning already.
    begun = [*prompt, *renderer.chat.encode("<think>\n")]
    reply = renderer.read(begun, written(renderer, "so be it\n</think>\n\nit is done", "<|im_end|>"), TOOLS)
    assert (reply.content, reply.reasoning) == ("it is done", "so be it")
    reply = renderer.read(prompt, renderer.chat.encode("<think>\nleft is"), TOOLS)
    assert (reply.content, reply.reasoning) == ("", "left is")
    renderer = renderers["gpt-oss"]
    thought = f"<|channel|>analysis<|message|>left is left<|end|><|start|>assistant{FAMILIES['gpt-oss'].call}"
    reply = renderer.read(renderer.prompt(OPENING, TOOLS), written(renderer, thought, "<|call|>"), TOOLS)
    assert (reply.content, reply.reasoning, [call.name for call in reply.calls]) == ("", "left is left", ["pull"])


def test_several_calls_are_answered_in_order(renderers: dict) -> None:
    for name, text in (
        ("qwen3", f"{HERMES_CALL}\n{HERMES_CALL}"),
        ("lfm2", "<|tool_call_start|>[pull(lever='left'), pull(lever='right')]<|tool_call_end|>"),
        ("mistral", '[TOOL_CALLS] [{"name": "pull", "arguments": {}}, {"name": "pull", "arguments": {}}]'),
    ):
        renderer = renderers[name]
        reply = renderer.read(
            renderer.prompt(OPENING, TOOLS), written(renderer, text, FAMILIES[name].end), TOOLS, turn=1
        )
        assert [call.id for call in reply.calls] == ["t0001c000", "t0001c001"]
        bridge = renderer.chat.decode(renderer.bridge(reply, ["first answer", "second answer"]))
        assert 0 <= bridge.find("first answer") < bridge.find("second answer")


def test_a_template_without_calls_is_refused_with_what_to_do(renderers: dict) -> None:
    with pytest.raises(ModelError, match="Conversation roles must alternate.*chat_template.jinja"):
        renderers["gemma-3"].check_calls()


def test_a_checkpoint_without_an_end_of_turn_is_refused(tmp_path: Path) -> None:
    save_tokenizer(FAMILIES["qwen3"], tmp_path)
    (tmp_path / "generation_config.json").write_text("{}")
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text(settings.read_text().replace('"eos_token": "<|im_end|>"', '"eos_token": null'))
    with pytest.raises(ModelError, match="no token that ends a turn"):
        Renderer(tmp_path)


def test_ids_that_the_model_wrote_are_kept(renderers: dict) -> None:
    renderer = renderers["mistral"]
    text = '[TOOL_CALLS] [{"name": "pull", "arguments": {}, "id": "abcdefghi"}]'
    reply = renderer.read(renderer.prompt(OPENING, TOOLS), written(renderer, text, "</s>"), TOOLS)
    assert reply.calls == (ToolCall("pull", "{}", "abcdefghi"),)
    assert '"call_id": "abcdefghi"' in renderer.chat.decode(renderer.bridge(reply, ["clunk"]))
