"""Conversations as text and as tokens: the chat template, the tokenizer, and tool calls in generated text.

The policy server and the trainer both use it, so that both read and write the same conversation alike.
"""

from .template import Chat, RawJson
from .tool_calls import TOOL_CALL_OPEN, ToolCall, parse_completion

__all__ = ["TOOL_CALL_OPEN", "Chat", "RawJson", "ToolCall", "parse_completion"]
