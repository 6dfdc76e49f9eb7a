"""Conversations as text and as tokens: the chat template, the tokenizer, and tool calls in generated text.

The policy server and the trainer both use it, so that both read and write the same conversation alike.
"""

from .template import Chat, RawJson
from .tool_calls import ToolCall

__all__ = ["Chat", "RawJson", "ToolCall"]
