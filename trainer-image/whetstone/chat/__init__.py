"""Conversations as text and as tokens: the chat template, the tokenizer, and tool calls in generated text.

The policy server and the trainer both use this package, so that both read and write conversations in the same way.
"""

from .template import Chat, RawJson
from .tool_calls import ToolCall

__all__ = ["Chat", "RawJson", "ToolCall"]
