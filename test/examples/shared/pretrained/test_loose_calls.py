# Tier: unit.
import sys

import pytest

sys.path.insert(0, "examples/shared/pretrained")

from loose_calls import read_calls  # noqa: E402

CANCEL = {"name": "cancel", "arguments": {"order": "A1"}}
WRITTEN = '{"name": "cancel", "arguments": {"order": "A1"}}'


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        (WRITTEN, [CANCEL]),
        (f"```json\n{WRITTEN}\n```", [CANCEL]),
        (f"<tool_call>\n{WRITTEN}\n</tool_call>", [CANCEL]),
        (f"<tools>{WRITTEN}</tools>", [CANCEL]),
        (f"{WRITTEN}\n{WRITTEN}", [CANCEL, CANCEL]),
        (f"[{WRITTEN}, {WRITTEN}]", [CANCEL, CANCEL]),
        ('{"function": "cancel", "arguments": {"order": "A1"}}', [CANCEL]),
        ('{"function": {"name": "cancel", "arguments": {"order": "A1"}}}', [CANCEL]),
        ('{"name": "cancel", "parameters": {"order": "A1"}}', [CANCEL]),
        ('{{"name": "cancel", "arguments": {{"order": "A1"}}}}', [CANCEL]),
        ('{"name": "cancel", "arguments": {"order": "A1"}', [CANCEL]),
        ('{"name": "cancel", "arguments": {"order": "A1"', [CANCEL]),
        (f"{WRITTEN} Done.", [CANCEL]),
        (f"Of course. {WRITTEN}", []),
        ("Your order is cancelled.", []),
        ('{"order": "A1"}', []),
        ('{"name": "cancel", "arguments": "A1"}', []),
        ("[]", []),
        ("[" * 100_000, []),
    ],
)
def test_calls_are_read_in_every_form_that_small_models_write(text: str, calls: list[dict]) -> None:
    assert read_calls(text) == calls


def test_a_call_keeps_doubled_braces_in_its_values() -> None:
    assert read_calls('{"name": "say", "arguments": {"text": "{{x}}"}}') == [
        {"name": "say", "arguments": {"text": "{{x}}"}}
    ]
