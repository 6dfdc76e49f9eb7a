"""Chat-completion answers, complete or as a stream of chunks."""

from __future__ import annotations

import json
import time
from itertools import count

from whetstone.chat import Chat, ToolCall
from whetstone.chat.dialects import Dialect, split_thought
from whetstone.chat.tool_calls import TOOL_CALL_OPEN
from whetstone.engine import Request

from .requests import ChatRequest

# Tokens at a prompt's end among which the template may have begun the agent's reasoning.
OPENING_TOKENS = 64
# Before the first 16 digits of the base model's hash, in the field `system_fingerprint` of every answer.
FINGERPRINT_PREFIX = "weights-"

_numbers = count(1)
_PREFIX = f"{time.time_ns():x}"


def new_id(kind: str) -> str:
    """An id that is unique among the answers of this process."""
    return f"{kind}-{_PREFIX}{next(_numbers):06x}"


class Answer:
    """Formats the result of one engine request for one chat request."""

    def __init__(
        self,
        chat: Chat,
        dialect: Dialect,
        asked: ChatRequest,
        request: Request,
        eos_ids: tuple[int, ...],
        weights_sha256: str,
    ) -> None:
        self._chat, self._dialect, self._asked, self._request, self._eos = chat, dialect, asked, request, eos_ids
        self._id, self._created = new_id("chatcmpl"), int(time.time())
        self._fingerprint = FINGERPRINT_PREFIX + weights_sha256[:16]
        self._sent, self._sent_tokens = "", 0

    def _shown(self) -> list[int]:
        """Generated ids without the end-of-turn token."""
        tokens = self._request.tokens
        return tokens[:-1] if tokens and tokens[-1] in self._eos else tokens

    def whole(self) -> dict:
        """The body of an answer that is not streamed; the request has ended."""
        content, reasoning, calls = self._parsed()
        message: dict = {"role": "assistant", "content": content}
        if reasoning is not None:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = [_call(call) for call in calls]
        choice = {"index": 0, "message": message, "logprobs": self._logprobs(), "finish_reason": self._finish(calls)}
        choice |= self._token_ids()
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage(), **self._prompt_ids()}

    def opening(self) -> str:
        """The first chunk: the role, and the ids of the prompt where they are asked for, as in vLLM."""
        return self._chunk({"role": "assistant", "content": ""}, None, head=self._prompt_ids())

    def progress(self) -> str | None:
        """A chunk with the text since the last one; None while no text is certain to be content."""
        if self._asked.top_logprobs is not None:
            return None
        text = self._chat.decode(self._shown())
        if self._asked.parse_tools:
            if self._dialect.thinks or self._dialect.name not in ("hermes", "text"):
                return None
            cut = text.find(TOOL_CALL_OPEN)
            text = text[:cut].rstrip() if cut >= 0 else text.rstrip()
            longest = min(len(TOOL_CALL_OPEN), len(text))
            held = next((n for n in range(longest, 0, -1) if TOOL_CALL_OPEN.startswith(text[-n:])), 0)
            text = text[: len(text) - held].rstrip() if held else text
        text = text.rstrip("\ufffd")
        if not text.startswith(self._sent) or len(text) == len(self._sent):
            return None
        delta, self._sent = text[len(self._sent) :], text
        return self._chunk({"content": delta}, None, ids=self._token_ids())

    def closing(self) -> list[str]:
        """The last chunks: the rest of the content, tool calls, the finish reason, and usage when asked for."""
        content, reasoning, calls = self._parsed()
        chunks = [] if reasoning is None else [self._chunk({"reasoning_content": reasoning}, None)]
        rest = (content or "")[len(self._sent) :]
        logprobs = self._logprobs()
        if rest or logprobs:
            chunks.append(self._chunk({"content": rest}, None, logprobs, self._token_ids()))
        if calls:
            chunks.append(self._chunk({"tool_calls": [{"index": i, **_call(c)} for i, c in enumerate(calls)]}, None))
        chunks.append(self._chunk({}, self._finish(calls), ids=self._token_ids()))
        if self._asked.stream_usage:
            usage = {**self._head("chat.completion.chunk"), "choices": [], "usage": self._usage()}
            chunks.append(f"data: {json.dumps(usage)}\n\n")
        return [*chunks, "data: [DONE]\n\n"]

    def _parsed(self) -> tuple[str | None, str | None, list[ToolCall]]:
        """Content, reasoning and tool calls of the request, which has ended."""
        text, reasoning = self._chat.decode(self._shown()), None
        if not self._asked.parse_tools:
            return text, None, []
        if self._dialect.thinks:
            reasoning, text = split_thought(self._chat.decode(self._request.prompt[-OPENING_TOKENS:]), text)
        content, calls = (text, []) if self._dialect.read is None else self._dialect.read(text)
        return content, reasoning, calls

    def _head(self, kind: str) -> dict:
        made = {"id": self._id, "object": kind, "created": self._created, "model": self._asked.model}
        return {**made, "system_fingerprint": self._fingerprint}

    def _chunk(
        self,
        delta: dict,
        finish: str | None,
        logprobs: dict | None = None,
        ids: dict | None = None,
        head: dict | None = None,
    ) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish, **(ids or {})}
        return f"data: {json.dumps({**self._head('chat.completion.chunk'), 'choices': [choice], **(head or {})})}\n\n"

    def _prompt_ids(self) -> dict:
        return {"prompt_token_ids": self._request.prompt} if self._asked.token_ids else {}

    def _token_ids(self) -> dict:
        """The ids since the last call, with the end of the turn: vLLM's field of a choice. Empty: nobody asked."""
        if not self._asked.token_ids:
            return {}
        start, self._sent_tokens = self._sent_tokens, len(self._request.tokens)
        return {"token_ids": self._request.tokens[start : self._sent_tokens]}

    def _finish(self, calls: list[ToolCall]) -> str:
        return "tool_calls" if calls and self._request.finish == "stop" else self._request.finish

    def _usage(self) -> dict:
        request = self._request
        prompt, completion = len(request.prompt), len(request.tokens)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": request.cached_tokens},
        }

    def _logprobs(self) -> dict | None:
        if self._asked.top_logprobs is None:
            return None
        content = []
        # Where ids are asked for, there is an entry for each of them, as in vLLM.
        for step in range(len(self._request.tokens if self._asked.token_ids else self._shown())):
            entry = self._token(self._request.tokens[step], self._request.logprobs[step])
            top = self._request.top[step] if self._asked.top_logprobs else []
            content.append({**entry, "top_logprobs": [self._token(*pair) for pair in top]})
        return {"content": content, "refusal": None}

    def _token(self, token: int, logprob: float) -> dict:
        text = self._chat.token_text(token)
        return {"token": text, "logprob": logprob, "bytes": list(text.encode())}


def _call(call: ToolCall) -> dict:
    return {"id": new_id("call"), "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
